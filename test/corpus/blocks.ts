import { OTHER_SHAPES } from './blocks-others.ts';
import { type BlockShape, PROTECTOR_SHAPES } from './blocks-protectors.ts';
import { baggage } from './filling.ts';
import { type Charset, type Coding, type CorpusReply, onTheWire, type Told } from './reply.ts';

/** A block page with what it should be taken for. */
export interface CorpusBlock {
  readonly maker: string;
  readonly kind: BlockShape['kind'];
  readonly sample: CorpusReply;
}

const CODINGS: readonly Coding[] = ['identity', 'gzip', 'br', 'deflate', 'zstd'];
const CHARSETS: readonly (readonly [Charset, Told])[] = [
  ['utf-8', 'header'],
  ['utf-16le', 'mark'],
  ['utf-8', 'nowhere'],
  ['utf-16be', 'header'],
  ['utf-8', 'mark'],
];
const VARIANTS = 3;

/** Every shape in every of its statuses, dressed differently each time. */
export function blocks(): readonly CorpusBlock[] {
  let seed = 0;
  return [...PROTECTOR_SHAPES, ...OTHER_SHAPES].flatMap((shape) =>
    shape.pages.flatMap((page, number) =>
      Array.from({ length: Math.min(VARIANTS, Math.max(2, shape.statuses.length)) }, (_, i) => {
        seed += 1;
        return {
          maker: shape.maker,
          kind: shape.kind,
          sample: dressed(shape, page, number, i, seed),
        };
      }),
    ),
  );
}

function dressed(shape: BlockShape, page: string, number: number, i: number, seed: number) {
  const [charset, told] = CHARSETS[seed % CHARSETS.length] ?? ['utf-8', 'header'];
  const isData = shape.type !== undefined;
  return onTheWire({
    name: `${shape.maker} ${number + 1}.${i + 1}`,
    status: shape.statuses[i % shape.statuses.length] ?? 200,
    headers: shape.headers ?? [],
    type: shape.type ?? 'text/html',
    text: isData ? page : look(page, seed),
    charset: isData ? 'utf-8' : charset,
    told: isData ? 'header' : told,
    coding: CODINGS[seed % CODINGS.length] ?? 'identity',
  });
}

/** As it comes, with a customer's own scripts, or spread over lines. */
function look(page: string, seed: number): string {
  switch (seed % 4) {
    case 0:
      return page.replace('</head>', `${baggage(seed)}</head>`);
    case 1:
      return page.replaceAll('><', '>\n    <');
    case 2:
      return `\n\n${page.replace('<body', `<!-- ${seed} --><body`)}\n`;
    default:
      return page;
  }
}
