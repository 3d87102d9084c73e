import { duration, size, whole } from './scalars.ts';
import { group, setting } from './setting.ts';

/** What clients may take up of this process. */
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
  },
  'What clients may take up.',
);
