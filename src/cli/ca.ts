import { openAuthority } from '../proxy.ts';
import type { CaTopic } from './ca-topics.ts';
import { openHome } from './home.ts';
import { installHelp } from './install-help.ts';
import type { ExitCode, Terminal } from './terminal.ts';

/** `forbear ca`: the certificate authority that intercepted sites are signed with, made on first use. */
export async function ca(topic: CaTopic, terminal: Terminal): Promise<ExitCode> {
  const authority = await openAuthority(openHome(terminal.env));
  terminal.out(`${answer(topic, authority).trimEnd()}\n`);
  return 0;
}

function answer(
  topic: CaTopic,
  authority: { readonly caFile: string; readonly caPem: string; bundleFile(): string },
): string {
  switch (topic) {
    case 'path':
      return authority.caFile;
    case 'print':
      return authority.caPem;
    case 'bundle':
      return authority.bundleFile();
    case 'install-help':
      return installHelp(authority.caFile, authority.caPem);
  }
}
