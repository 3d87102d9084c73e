import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** Where fresh requests go. */
export interface Probe {
  readonly name: string;
  readonly proxyPort: number;
  /** An absolute http URL. */
  readonly url: string;
}

/** How long fresh requests took, in ms. */
export interface Latency {
  readonly p50: number;
  readonly p99: number;
  readonly samples: number;
}

const EVERY_MS = 12;

/** Asks over a fresh connection each time, all probes in turn, so that a busy machine is busy for all of them. */
export async function measure(probes: readonly Probe[], samples: number): Promise<Latency[]> {
  const took = probes.map((): number[] => []);
  for (let n = 0; n < samples; n++) {
    for (const [at, probe] of probes.entries()) {
      took[at]?.push(await ask(probe));
      await pause(EVERY_MS);
    }
  }
  return took.map(summary);
}

async function ask({ proxyPort, url }: Probe): Promise<number> {
  const startedAt = performance.now();
  const socket = connect({ host: '127.0.0.1', port: proxyPort });
  const { host } = new URL(url);
  socket.write(`GET ${url} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  await once(socket, 'close');
  if (!text.startsWith('HTTP/1.1 200 ') || !text.endsWith('</html>')) {
    throw new Error(`a probe got ${text.slice(0, 300)}`);
  }
  return performance.now() - startedAt;
}

function summary(took: readonly number[]): Latency {
  const sorted = took.toSorted((a, b) => a - b);
  const at = (share: number) => Number((sorted[Math.floor(share * sorted.length)] ?? 0).toFixed(2));
  return { p50: at(0.5), p99: at(0.99), samples: sorted.length };
}
