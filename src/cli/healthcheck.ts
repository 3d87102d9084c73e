import { printable } from '../telemetry/log-text.ts';
import { adminClient } from './admin-client.ts';
import type { ConfigFlags } from './settings.ts';
import type { ExitCode, Terminal } from './terminal.ts';

const HEAD_MS = 5_000;

/** `forbear healthcheck`: 0 while new requests are welcome (with `--live`: while the process answers), else 1. */
export async function healthcheck(
  flags: ConfigFlags & { readonly live?: boolean },
  terminal: Terminal,
): Promise<ExitCode> {
  const client = adminClient(flags, terminal);
  const answer = await client.ask(flags.live ? '/livez' : '/readyz', { headMs: HEAD_MS });
  let text = '';
  try {
    for await (const piece of answer.setEncoding('utf8')) text += piece;
  } catch {
    // What it said before is enough.
  }
  if (answer.statusCode === 200) {
    terminal.out(`${flags.live ? 'live' : 'ready'}\n`);
    return 0;
  }
  terminal.err(`forbear: not ready: ${printable(detailOf(text))}\n`);
  return 1;
}

function detailOf(text: string): string {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    if (typeof detail === 'string') return detail;
  } catch {
    // Not ours.
  }
  return 'what answers is not the admin server of a Forbear';
}
