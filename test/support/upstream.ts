import { connect, isIP, type Socket } from 'node:net';
import { onHead, type RawServer, rawServer, rawTlsServer, type Serve } from './raw-server.ts';

/** What a fake upstream does with what it is asked. */
export interface UpstreamPlan {
  /** Its exit: the address its own connections are made from. */
  readonly exit?: string;
  /** Names it can resolve; each leads to a port of 127.0.0.1. */
  readonly names: Readonly<Record<string, number>>;
  /** The login it wants, `user:password`; anything else is refused. */
  readonly login?: string;
  /** With a certificate it speaks TLS. */
  readonly tls?: { cert: string; key: string };
}

/** A CONNECT proxy that also takes absolute-form requests, and hands them on in origin-form. */
export function httpUpstream(plan: UpstreamPlan): Promise<RawServer> {
  const serve: Serve = (socket) => {
    onHead(socket, (head, rest) => {
      socket.removeAllListeners('data');
      if (plan.login !== undefined && loginIn(head) !== plan.login) {
        socket.end(
          'HTTP/1.1 407 Login\r\nProxy-Authenticate: Basic realm="x"\r\nContent-Length: 0\r\n\r\n',
        );
        return;
      }
      if (head.startsWith('CONNECT ')) joinByConnect(socket, head, plan);
      else forward(socket, head, rest, plan);
    });
  };
  return plan.tls === undefined ? rawServer(serve) : rawTlsServer(serve, plan.tls);
}

/** A SOCKS5 proxy that takes names only with login, or without where none is wanted. */
export function socksUpstream(
  plan: UpstreamPlan & {
    /** Answer every request with this code. */
    readonly reply?: number;
    /** The targets that were asked for, `host:port`. */
    readonly asked?: string[];
  },
): Promise<RawServer> {
  return rawServer((socket) => {
    let step: 'greeting' | 'login' | 'request' = 'greeting';
    const onData = (bytes: Buffer) => {
      if (step === 'greeting') {
        const method = plan.login === undefined ? 0 : 2;
        socket.write(Buffer.from([5, bytes.subarray(2).includes(method) ? method : 0xff]));
        step = plan.login === undefined ? 'request' : 'login';
        return;
      }
      if (step === 'login') {
        const end = 2 + (bytes[1] ?? 0);
        const login = `${bytes.toString('utf8', 2, end)}:${bytes.toString('utf8', end + 1)}`;
        socket.write(Buffer.from([1, login === plan.login ? 0 : 1]));
        step = 'request';
        return;
      }
      socket.off('data', onData);
      const host = socksHost(bytes);
      const port = bytes.readUInt16BE(bytes.length - 2);
      plan.asked?.push(`${host}:${port}`);
      if (plan.reply !== undefined) {
        socket.end(Buffer.from([5, plan.reply, 0, 1, 0, 0, 0, 0, 0, 0]));
        return;
      }
      const far = dialFor(host, port, plan);
      far.on('connect', () => {
        socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
        join(socket, far);
      });
    };
    socket.on('data', onData);
  });
}

function joinByConnect(socket: Socket, head: string, plan: UpstreamPlan): void {
  const [, host = '', port = ''] = /^CONNECT (\S+):(\d+) /.exec(head) ?? [];
  const far = dialFor(host, Number(port), plan);
  far.on('connect', () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    join(socket, far);
  });
}

function forward(socket: Socket, head: string, rest: Buffer, plan: UpstreamPlan): void {
  const [, method, host = '', port, path] =
    /^(\S+) http:\/\/([^/:]+)(?::(\d+))?(\S*) /.exec(head) ?? [];
  const lines = head.split('\r\n').slice(1);
  const fields = lines.filter((line) => !/^proxy-authorization:/i.test(line));
  const far = dialFor(host, Number(port ?? 80), plan);
  far.on('connect', () => {
    far.write([`${method} ${path} HTTP/1.1`, ...fields].join('\r\n'), 'latin1');
    far.write(rest);
    join(socket, far);
  });
}

function dialFor(host: string, port: number, plan: UpstreamPlan): Socket {
  const to = isIP(host) === 0 ? (plan.names[host] ?? 1) : port;
  const far = connect({ host: '127.0.0.1', port: to, localAddress: plan.exit ?? '127.0.0.1' });
  return far.on('error', () => {});
}

function join(near: Socket, far: Socket): void {
  near.pipe(far).pipe(near);
  near.on('close', () => far.destroy());
  far.on('close', () => near.destroy());
}

function loginIn(head: string): string {
  const [, code = ''] = /^proxy-authorization: basic (\S+)/im.exec(head) ?? [];
  return Buffer.from(code, 'base64').toString('utf8');
}

function socksHost(bytes: Buffer): string {
  if (bytes[3] === 3) return bytes.toString('latin1', 5, 5 + (bytes[4] ?? 0));
  if (bytes[3] === 1) return [...bytes.subarray(4, 8)].join('.');
  return (bytes.toString('hex', 4, 20).match(/.{4}/g) ?? []).join(':');
}
