import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Address, Config } from '../../config/config.ts';
import { answersAsForbear, clientAddress } from '../find-proxy.ts';
import { systemCode } from '../terminal.ts';
import { type Finding, findings } from './finding.ts';

const { ok, fail } = findings('port');

/** Whether the proxy and its admin server can listen where they are to, or do already. */
export async function checkPorts({ listen, admin }: Config): Promise<readonly Finding[]> {
  const found = [await checkPort(listen, '--listen', answersAsForbear)];
  if (admin.listen === 'off') return found;
  return [...found, await checkPort(admin.listen, '--admin', answersAsAdmin)];
}

async function checkPort(
  address: Address,
  flag: string,
  isOurs: (address: Address) => Promise<boolean>,
): Promise<Finding> {
  const { host, port } = address;
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const code = await tried(address);
  switch (code) {
    case undefined:
      return ok(`${where} is free`);
    case 'EADDRINUSE':
      if (await isOurs(address)) return ok(`${where} is a running Forbear`);
      return fail(
        `${where} is in use by another program`,
        `stop that, or listen elsewhere: ${flag} ${host}:${port + 2}`,
      );
    case 'EACCES':
      return fail(`may not listen on ${where}`, `take a port above 1023: ${flag} ${host}:8888`);
    default:
      return fail(
        `cannot listen on ${where} (${code})`,
        `listen on an address of this machine: ${flag} 127.0.0.1:${port}`,
      );
  }
}

/** The system's word for why not; undefined where it can listen. */
async function tried({ host, port }: Address): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
    return undefined;
  } catch (error) {
    return systemCode(error) ?? String(error);
  } finally {
    server.close();
  }
}

const ANSWER_MS = 2_000;

async function answersAsAdmin(address: Address): Promise<boolean> {
  const { host, port } = clientAddress(address);
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/livez`;
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });
    return answer.ok && (await answer.text()).includes('live');
  } catch {
    return false;
  }
}
