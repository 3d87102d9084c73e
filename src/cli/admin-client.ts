import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import type { Address, Config } from '../config/config.ts';
import { printable } from '../telemetry/log-text.ts';
import { clientAddress } from './find-proxy.ts';
import { homeFolder } from './home.ts';
import { readRunning } from './running.ts';
import { type ConfigFlags, readSettings } from './settings.ts';
import { CommandError, systemCode, type Terminal } from './terminal.ts';

/** A head that does not come within this time does not come. */
const HEAD_MS = 30_000;
const API = '/api/v1';

/** A call of the admin API. */
export interface AdminCall {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** Below `/api/v1`, with its query. */
  readonly path: string;
  readonly body?: unknown;
  readonly accept?: string;
}

/** The admin API of one running proxy, over HTTP. Whatever goes wrong is a `CommandError` of one line. */
export class AdminClient {
  readonly #at: Address;
  readonly #token: string | undefined;

  constructor(at: Address, token: string | undefined) {
    this.#at = at;
    this.#token = token;
  }

  get url(): string {
    const { host, port } = this.#at;
    return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }

  /** The answer's JSON; its form is the API's promise. */
  async json<T>(call: AdminCall): Promise<T> {
    const text = await textOf(await this.open(call));
    try {
      return JSON.parse(text) as T;
    } catch {
      throw this.#stranger();
    }
  }

  /** The answer, its body still to be read. */
  async open({ method = 'GET', path, body, accept }: AdminCall): Promise<IncomingMessage> {
    const json = method === 'GET' ? {} : { 'Content-Type': 'application/json' };
    const answer = await this.ask(`${API}${path}`, {
      method,
      headers: { ...json, ...(accept === undefined ? {} : { Accept: accept }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { statusCode: status = 0 } = answer;
    if (status >= 200 && status < 300) return answer;
    throw this.#refusal(status, await textOf(answer));
  }

  /** One request, whatever its answer says. */
  async ask(
    path: string,
    o: { method?: string; headers?: Record<string, string>; body?: string; headMs?: number } = {},
  ): Promise<IncomingMessage> {
    const { method = 'GET', headers = {}, body = '', headMs = HEAD_MS } = o;
    const { host, port } = this.#at;
    const login = this.#token === undefined ? {} : { Authorization: `Bearer ${this.#token}` };
    const length = method === 'GET' ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
    const options = { host, port, path, method, agent: false, timeout: headMs };
    try {
      return await exchange({ ...options, headers: { ...headers, ...login, ...length } }, body);
    } catch (error) {
      const why = systemCode(error) ?? (error as Error).message;
      throw new CommandError(
        `no Forbear answers at ${this.url} (${why}); start it with: forbear start`,
        1,
      );
    }
  }

  #refusal(status: number, text: string): CommandError {
    if (status === 401) {
      const advice = 'set admin.token in the configuration, or FORBEAR_ADMIN_TOKEN';
      return new CommandError(`${this.url} wants another token: ${advice}`, 1);
    }
    try {
      const { detail } = JSON.parse(text) as { detail?: unknown };
      if (typeof detail === 'string') return new CommandError(printable(detail), 1);
    } catch {
      // Not ours.
    }
    return this.#stranger();
  }

  #stranger(): CommandError {
    return new CommandError(`what answers at ${this.url} is not the admin server of a Forbear`, 1);
  }
}

/** The admin API that the flags, the note of the running proxy, or the configuration name, in this order. */
export function adminClient(flags: ConfigFlags, terminal: Terminal): AdminClient {
  const { config: file, admin } = flags;
  const read = readSettings({ config: file }, terminal.env);
  const config = read.kind === 'ok' ? read.config : undefined;
  // A configuration that was broken meanwhile keeps nobody from looking at what runs.
  const token = config?.admin.token ?? (terminal.env.FORBEAR_ADMIN_TOKEN || undefined);
  const at = admin === undefined ? (runningAdmin(terminal) ?? usual(config)) : named(admin);
  if (at) return new AdminClient(clientAddress(at), token);
  if (read.kind === 'faults') {
    throw new CommandError(`the configuration is not valid\n${read.text}`, 2);
  }
  throw new CommandError('the admin server is off; start Forbear with --admin HOST:PORT', 1);
}

function named(text: string): Address {
  const [, host = '', port = ''] = /^(?:http:\/\/)?(.+):(\d{1,5})\/?$/.exec(text) ?? [];
  if (host === '' || /[\s/@?#]/.test(host) || Number(port) < 1 || Number(port) > 65_535) {
    throw new CommandError(`--admin takes HOST:PORT, as in 127.0.0.1:8889; not ${text}`, 2);
  }
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
}

function runningAdmin(terminal: Terminal): Address | undefined {
  const running = readRunning(homeFolder(terminal.env));
  return running && isAlive(running.pid) ? running.admin : undefined;
}

/** Port 0 was any free one: only the note could tell which. */
function usual(config: Config | undefined): Address | undefined {
  const listen = config?.admin.listen;
  return listen === undefined || listen === 'off' || listen.port === 0 ? undefined : listen;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It lives, but belongs to somebody else.
    return systemCode(error) === 'EPERM';
  }
}

function exchange(options: RequestOptions, body: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asking = request(options, (answer) => {
      // A redrive may say nothing for minutes.
      asking.setTimeout(0);
      resolve(answer);
    });
    asking.on('timeout', () => asking.destroy(new Error('no answer in time')));
    asking.on('error', reject);
    asking.end(body);
  });
}

async function textOf(answer: IncomingMessage): Promise<string> {
  try {
    let text = '';
    for await (const piece of answer.setEncoding('utf8')) text += piece;
    return text;
  } catch {
    throw new CommandError('the admin server broke its answer off', 1);
  }
}
