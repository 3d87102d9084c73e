import {
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  parseDocument,
  type YAMLMap,
} from 'yaml';
import type * as z from 'zod';
import type { Fault } from './faults.ts';
import { type Env, interpolate } from './interpolate.ts';
import { dotted, type Path, type Place, type Places } from './places.ts';
import { schemaAt } from './setting.ts';
import { asWritten } from './written.ts';

interface Reading {
  readonly text: string;
  /** Where the text comes from, for faults; with `lines` off, places are without a line. */
  readonly file: string;
  readonly lines: 'on' | 'off';
  /** The path of the text's root within the configuration. */
  readonly base: Path;
  readonly schema: z.ZodType;
  readonly env: Env;
  readonly places: Places;
}

/** Reads YAML into plain data, with the place of each value and every fault of the notation. */
export function readYaml(reading: Reading): { tree: unknown; faults: readonly Fault[] } {
  const walk = new Walk(reading);
  return { tree: walk.read(), faults: walk.faults };
}

/** More than any configuration needs; aliases of aliases reach it at once. */
const MOST_NODES = 20_000;
const MOST_DEPTH = 40;
const MOST_TEXT = 2 ** 20;

class Walk {
  readonly faults: Fault[] = [];
  readonly #reading: Reading;
  /** Where each line begins. The library's own counter misses the line that an error ends in. */
  readonly #lineStarts: readonly number[];
  readonly #anchors = new Map<string, unknown>();
  #nodes = 0;

  constructor(reading: Reading) {
    this.#reading = reading;
    const ends = reading.text.matchAll(/\n/g);
    this.#lineStarts = [0, ...Array.from(ends, ({ index }) => index + 1)];
  }

  read(): unknown {
    const { text, base } = this.#reading;
    if (text.length > MOST_TEXT) return this.#fault(base, this.#placeAt(0), 'longer than 1 MiB');
    const document = this.#parse(text);
    return document && this.#value(document.contents, base, 0);
  }

  #parse(text: string): Document.Parsed | undefined {
    const { base } = this.#reading;
    try {
      const document = parseDocument(text, { prettyErrors: false });
      // The library's own texts quote the file, and the file may hold secrets.
      for (const error of [...document.errors, ...document.warnings]) {
        this.#fault(base, this.#placeAt(error.pos[0]), SYNTAX[error.code] ?? 'not valid YAML');
      }
      return document;
    } catch {
      this.#fault(base, this.#placeAt(0), 'not valid YAML: nested too deeply');
      return undefined;
    }
  }

  #value(node: unknown, path: Path, depth: number): unknown {
    if (node === null || node === undefined) return null;
    const place = this.#place(node);
    this.#nodes++;
    if (this.#nodes > MOST_NODES || depth > MOST_DEPTH) {
      // Once is enough; what follows is cut off silently.
      if (this.#nodes < Number.POSITIVE_INFINITY)
        this.#fault(
          path,
          place,
          'too many or too deeply nested values (aliases count as often as they are used)',
        );
      this.#nodes = Number.POSITIVE_INFINITY;
      return null;
    }
    this.#remember(node);
    if (isAlias(node)) {
      const meant = this.#anchors.get(node.source);
      if (meant !== undefined) return this.#value(meant, path, depth + 1);
      return this.#fault(path, place, SYNTAX.BAD_ALIAS);
    }
    this.#reading.places.setValue(path, place);
    if (isMap(node)) return this.#map(node, path, depth);
    if (isSeq(node)) return node.items.map((item, i) => this.#value(item, [...path, i], depth + 1));
    if (!isScalar(node)) return null;
    return typeof node.value === 'string' ? this.#string(node.value, path, place) : node.value;
  }

  #map(node: YAMLMap, path: Path, depth: number): Record<string, unknown> {
    const entries: Record<string, unknown> = {};
    for (const pair of node.items as Pair[]) {
      const key = isScalar(pair.key) ? String(pair.key.value) : undefined;
      const place = this.#place(pair.key);
      if (key === undefined || key === '__proto__') {
        this.#fault(path, place, 'expected a plain word as a key');
        continue;
      }
      const inside = [...path, key];
      this.#reading.places.setKey(inside, place);
      entries[key] = this.#value(pair.value, inside, depth + 1);
    }
    return entries;
  }

  #string(text: string, path: Path, place: Place): unknown {
    if (!text.includes('${')) return text;
    const { env, schema, places } = this.#reading;
    const isUrl = path.at(-1) === 'gateway' || path.at(-2) === 'routes';
    const filled = interpolate(text, env, isUrl ? 'url' : 'text');
    for (const problem of filled.problems) this.#fault(path, place, problem);
    if (filled.from === undefined) return filled.text;
    places.setValue(path, { ...place, from: filled.from });
    return asWritten(filled.text, schemaAt(schema, path));
  }

  /** The last anchor of a name before an alias is the one that it means. */
  #remember(node: unknown): void {
    if ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor !== undefined) {
      this.#anchors.set(node.anchor, node);
    }
  }

  #place(node: unknown): Place {
    const ranged = isMap(node) || isSeq(node) || isScalar(node) || isAlias(node);
    return this.#placeAt(ranged ? (node.range?.[0] ?? 0) : 0);
  }

  #placeAt(offset: number): Place {
    const { file, lines } = this.#reading;
    if (lines === 'off') return { file, line: 0, column: 0 };
    const line = Math.max(1, firstAbove(this.#lineStarts, offset));
    return { file, line, column: 1 + offset - (this.#lineStarts[line - 1] ?? 0) };
  }

  #fault(path: Path, place: Place, message: string): undefined {
    const { file, line, column } = place;
    this.faults.push({ file, line, column, path: dotted(path), message, expected: '' });
    return undefined;
  }
}

/** The index of the first of some growing numbers that is above `limit`; their count when none is. */
function firstAbove(growing: readonly number[], limit: number): number {
  let low = 0;
  let high = growing.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((growing[middle] ?? 0) > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

const SYNTAX: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'not valid YAML: an alias (*name) takes no anchor or tag',
  BAD_ALIAS:
    'not valid YAML: this alias (*name) has no anchor (&name) before it; put text that begins with * in quotes',
  BAD_COLLECTION_TYPE: 'not valid YAML: this tag does not fit what follows',
  BAD_DIRECTIVE: 'not valid YAML: an unknown directive (a line that begins with %)',
  BAD_DQ_ESCAPE:
    'not valid YAML: an unknown escape in double quotes; write \\\\ for a backslash, or use single quotes',
  BAD_INDENT: 'not valid YAML: the indentation does not fit',
  BAD_PROP_ORDER: 'not valid YAML: anchor and tag in the wrong place',
  BAD_SCALAR_START: 'not valid YAML: a text cannot begin with this character; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'not valid YAML: a second "key:" on one line; put a text that holds ": " in quotes',
  BLOCK_IN_FLOW: 'not valid YAML: indented lists and maps cannot stand inside [ ] or { }',
  DUPLICATE_KEY: 'this key is there twice',
  IMPOSSIBLE: 'not valid YAML',
  KEY_OVER_1024_CHARS: 'not valid YAML: a key longer than 1024 characters',
  MISSING_CHAR: 'not valid YAML: a quote, bracket, comma, colon or space is missing',
  MULTILINE_IMPLICIT_KEY: 'not valid YAML: a key goes over several lines; is a colon missing?',
  MULTIPLE_ANCHORS: 'not valid YAML: two anchors for one value',
  MULTIPLE_DOCS: 'more than one document in the file (a line of ---)',
  MULTIPLE_TAGS: 'not valid YAML: two tags for one value',
  NON_STRING_KEY: 'expected a plain word as a key',
  RESOURCE_EXHAUSTION: 'not valid YAML: nested too deeply',
  TAB_AS_INDENT: 'not valid YAML: tabs cannot indent; use spaces',
  TAG_RESOLVE_FAILED:
    'not valid YAML: an unknown tag (a word that begins with !); put such text in quotes',
  UNEXPECTED_TOKEN:
    'not valid YAML: something here does not belong; is a quote or a bracket left open?',
};
