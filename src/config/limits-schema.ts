import { duration, size, whole } from './scalars.ts';
import { group, setting } from './setting.ts';

/** What clients and sites may take up of this process. */
export const limitsSchema = group(
  {
    header_bytes: setting(
      size,
      '64KiB',
      'Request line and headers of one request; more is answered 431. Read at start.',
    ),
    head: setting(
      duration,
      '80s',
      'How long a request head may take, counted from the opening of a connection; then 408. Read at start.',
    ),
    keep_alive: setting(
      duration,
      '75s',
      'How long a connection may idle between requests; longer than the pools of usual clients, so that it is they who close. Read at start.',
    ),
    connections: setting(
      whole({ min: 1 }),
      50_000,
      'Connections of all clients together; one more is answered 503.',
    ),
    client_connections: setting(
      whole({ min: 1 }),
      1000,
      'Connections per client (its proxy user name, else its address); a request on one more is answered 503.',
    ),
    tunnels: setting(
      whole({ min: 1 }),
      20_000,
      'CONNECT tunnels at once, of all clients; one more is answered 503.',
    ),
    streams: setting(
      whole({ min: 1 }),
      100,
      'HTTP/2 streams at once on one connection; one more is refused, and may be sent again.',
    ),
    tunnel_idle: setting(
      duration,
      '10m',
      'How long a blind tunnel or a WebSocket may be silent at both ends; then both are closed.',
    ),
    reply_header_bytes: setting(
      size,
      '64KiB',
      'Status line and headers of one reply of a site or an upstream; more is a malformed reply, answered 502.',
    ),
  },
  'What clients and sites may take up.',
);
