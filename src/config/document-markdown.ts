import * as z from 'zod';
import { inline } from './document-yaml.ts';
import { environmentName } from './environment.ts';
import { examples } from './examples.ts';
import { configSchema } from './schema.ts';
import { bare, schemaAt } from './setting.ts';
import { inertNote, type ListedSetting, listSettings, typeText } from './settings-list.ts';

const HEAD = `# Configuration

<!-- Made from src/config/ by \`node src/config/document.ts\`; change it there. -->

Forbear runs without a file: then all is default and the upstream is \`direct\`. A file needs only what differs.
\`forbear check\` says everything that is wrong with one, with line, column, key and what was expected. Unknown keys are errors.

Precedence: flag, environment, file, default.

\`\`\`yaml
listen: 127.0.0.1:8888
upstreams:
  - name: residential
    gateway: http://customer-NAME-country-us:PASSWORD@p.shifter.io:443
policy:
  patience: 2m
targets:
  - match: www.example.com/search*
    pace: { delay: 10s..20s, concurrency: 1 }
\`\`\`

## Notation

| | examples | |
|---|---|---|
| duration | \`250ms\` \`1s\` \`5m\` \`1h\` \`7d\` | always with its unit |
| range | \`10s..20s\` | drawn from uniformly |
| size | \`64KiB\` \`1MiB\` \`500KB\` \`2MB\` \`4096\` | KiB is 1024 bytes, KB is 1000 |
| share | \`0.1\` \`10%\` | |
| statuses | \`503\` \`520-524\` \`[408, 520-524]\` | |
| host glob | \`www.example.com\` \`*.example.com\` | IP addresses match as text; in \`targets\`, \`host:port\` works too |
| path glob | \`/rest/**\` \`/search*\` | over path and query; \`*\` stays within a segment, \`**\` does not |

A target or profile changes single keys of the policy; lists (such as \`replies\`) are replaced as a whole.

## Environment variables

Any setting can be given as \`FORBEAR_\` and its path in capitals, with \`_\` between:
\`${environmentName(['listen'])}=0.0.0.0:8888\`, \`${environmentName(['policy', 'max_attempts'])}=3\`, \`${environmentName(['policy', 'pace', 'delay'])}=10s..20s\`.
Numbers, lists and maps are read as YAML: \`${environmentName(['intercept', 'except'])}='[bank.example, "*.gov"]'\`.
An empty variable counts as not set. A \`FORBEAR_\` variable that no setting has the name of is an error, except \`FORBEAR_HOME\`
(where state is kept), \`FORBEAR_CONFIG\` (the file to read) and the variables that Kubernetes makes for a Service called forbear.

## Secrets

\`\${NAME}\` inside a text of the file reads an environment variable, \`\${file:/run/secrets/name}\` a file (without the newline at its end);
\`$\${\` is \`\${\` itself. What is missing is an error that names it. No error, log line or display shows what was read.

In the user name and password of a proxy URL, what is read is taken as it is; what is written there yourself is percent-encoded
(\`@\` is \`%40\`, \`#\` is \`%23\`, \`%\` is \`%25\`, \`:\` in a password may stay). In \`username\` and \`password\` keys nothing is decoded.

\`\`\`yaml
upstreams:
  - name: from-secrets
    gateway: http://customer-NAME-sid-{session|alnum:12}:\${SHIFTER_PASSWORD}@p.shifter.io:443
  - name: encoded
    routes: ["http://user%40mail:p%3Ass%2F@proxy.example:8000"]
  - name: as-it-stands
    gateway: http://proxy.example:8000
    username: user@mail
    password: "p:ss/%40"
\`\`\`

## Templates

User name, host, port and headers of a gateway, and a password inside its URL, are templates. \`{variable|filter:argument}\` is filled in;
\`[…]\` is left out when a variable inside is empty; \`{{\` \`}}\` \`[[\` \`]]\` are the characters themselves.
Variables: \`session\`, \`country\`, \`ttl\` (of the session, in seconds), \`account\`, \`password\`, \`zone\`, \`region\`, \`city\`, \`asn\`.
Filters: \`alnum:N\` \`digits:N\` \`range:A-B\` \`uuid\` \`lower\` \`upper\` \`slug\` \`minutes\` \`map:a=b;c=d\`.

A gateway without \`{session}\` gives a new address for each connection and cannot hold a session, unless its host is one of a known
provider: then the provider's session syntax is added, and start says so.
`;

/** The page on every setting, made from the schema. */
export function configMarkdown(): string {
  return [HEAD, ...Object.keys(configSchema.shape).map(section)].join('\n');
}

function section(key: string): string {
  const schema = configSchema.shape[key as keyof typeof configSchema.shape] as z.ZodType;
  const rows = listSettings(configSchema).filter(({ path }) => path[0] === key);
  const own = rows[0]?.isGroup ? rows.slice(1) : rows;
  return [
    `## \`${key}\`\n`,
    ...(rows[0]?.isGroup ? [`${schema.description}\n`] : []),
    table(own),
    ...exampleBlocks(rows),
    ...(ENTRIES[key] ?? []).map(entryTable),
  ].join('\n');
}

/** The keys of list entries and of values that are null by default, shown with the section they belong to. */
const ENTRIES: Readonly<Record<string, readonly (readonly PropertyKey[])[]>> = {
  clients: [['clients', 0]],
  tls: [['tls', 'client_certs', 0]],
  upstreams: [
    ['upstreams', 0],
    ['upstreams', 0, 'exit_ip'],
  ],
  policy: [
    ['policy', 'probe'],
    ['policy', 'markers', 0],
    ['policy', 'markers', 0, 'signs', 0],
    ['policy', 'replies', 0],
    ['policy', 'replies', 0, 'when'],
    ['policy', 'expect', 0],
    ['policy', 'expect', 0, 'when'],
    ['policy', 'expect', 0, 'css'],
    ['policy', 'expect', 0, 'json'],
  ],
  targets: [['targets', 0, 'match']],
};

function entryTable(path: readonly PropertyKey[]): string {
  const schema = schemaAt(configSchema, path);
  const inner = schema && bare(schema);
  if (!(inner instanceof z.ZodObject)) throw new Error(`no keys at ${path.map(String).join('.')}`);
  const title = path.map((key) => (typeof key === 'number' ? '[]' : `.${String(key)}`)).join('');
  const rows = Object.entries(inner.shape).map(([key, field]) =>
    row(`\`${key}\``, field as z.ZodType, entryDefault(field as z.ZodType)),
  );
  return `### \`${title.slice(1)}\`\n\n| key | default | type | |\n|---|---|---|---|\n${rows.join('')}`;
}

function entryDefault(schema: z.ZodType): string {
  if (schema instanceof z.ZodPrefault) return `\`${inline(schema.def.defaultValue)}\``;
  return schema instanceof z.ZodOptional ? '–' : 'required';
}

function row(key: string, schema: z.ZodType, fallback: string): string {
  const why = sentence(schema.description ?? '', inertNote(schema));
  return `| ${key} | ${cell(fallback)} | ${cell(typeText(schema))} | ${why} |\n`;
}

function sentence(why: string, note: string): string {
  return cell(note === '' ? why : `${why} ${note}`);
}

function table(settings: readonly ListedSetting[]): string {
  const rows = settings.map((setting) => {
    const name = `\`${setting.path.join('.')}\``;
    const why = sentence(setting.why, setting.note);
    if (setting.isGroup) return `| **${name}** | | | ${why} |\n`;
    const fallback = setting.isOptional ? '–' : `\`${inline(setting.fallback)}\``;
    return `| ${name} | ${cell(fallback)} | ${cell(setting.type)} | ${why} |\n`;
  });
  return `| setting | default | type | |\n|---|---|---|---|\n${rows.join('')}`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function exampleBlocks(settings: readonly ListedSetting[]): readonly string[] {
  return settings.flatMap(({ path }) => {
    const example = examples[path.join('.')];
    // Its files would have to be there.
    return example === undefined || path[0] === 'tls'
      ? []
      : [`\`\`\`yaml\n${nested(path, example)}\`\`\`\n`];
  });
}

/** The example at its place in a whole file. */
export function nested(path: readonly string[], example: string): string {
  const heads = path.map((key, depth) => `${'  '.repeat(depth)}${key}:\n`);
  const lines = example.trimEnd().split('\n');
  return heads.join('') + lines.map((line) => `${'  '.repeat(path.length)}${line}\n`).join('');
}
