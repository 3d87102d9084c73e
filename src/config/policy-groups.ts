import * as z from 'zod';
import {
  autoCount,
  decimal,
  delay,
  duration,
  flag,
  jitter,
  rate,
  share,
  size,
  whole,
} from './scalars.ts';
import { group, required, setting } from './setting.ts';
import { mediaType, secretText, webUrl } from './texts.ts';

const enforcement = z.enum(['off', 'report', 'enforce']);
const atLeastOne = whole({ min: 1 });

const backoff = group(
  {
    base: setting(duration, '1s', 'The first ceiling of the delay.'),
    factor: setting(decimal({ min: 1 }), 2, 'How much the ceiling grows with each failure.'),
    cap: setting(duration, '60s', 'The ceiling never grows beyond this.'),
    jitter: setting(
      jitter,
      'full',
      'full draws from 0 to the ceiling, so that workers that failed together come back apart; a number j draws from ceiling × (1 − j, 1 + j).',
    ),
    count: setting(
      z.enum(['attempts', 'lane']),
      'attempts',
      "What grows the delay: this exchange's tries, or the lane's failures in a row.",
    ),
  },
  'How long to wait before a transient failure is tried again.',
);

const budget = group(
  {
    ratio: setting(share, 0.1, 'Retries earned by each exchange that ended well.'),
    floor_per_minute: setting(
      whole({ min: 0 }),
      6,
      'Retries that are always there, so that a quiet lane can recover.',
    ),
    window: setting(duration, '60s', 'How long earnings and spendings count.'),
  },
  'Caps retries as a share of the traffic of a lane, so that an outage is not multiplied.',
);

const byteBudget = group(
  {
    per_day: setting(
      size.nullable(),
      null,
      'Bytes on the wire, both ways, that a host may cost from midnight to midnight UTC; after 80 % there are no more retries and redrives, after all of it no more requests; null: no limit.',
    ),
  },
  'Caps what a host may cost.',
);

const breaker = group(
  {
    failure_ratio: setting(share, 0.5, 'Opens at this share of failures …'),
    min_attempts: setting(atLeastOne, 5, '… of at least this many attempts in the window.'),
    consecutive: setting(atLeastOne, 7, 'Opens at this many failures in a row, too.'),
    window: setting(duration, '30s', 'How far back failures count.'),
    cooldown: setting(
      duration,
      '30s',
      'How long nothing is sent after the first trip; doubles with each trip in a row.',
    ),
    max_cooldown: setting(duration, '10m', 'The cool-down never doubles beyond this.'),
    probes: setting(
      atLeastOne,
      3,
      'Single requests that must succeed, one after another, before it closes.',
    ),
    when_open: setting(
      z.enum(['auto', 'wait', 'refuse']),
      'auto',
      'auto waits through the first cool-down if the patience allows, and refuses from the second trip in a row on.',
    ),
  },
  'Stops sending to a site that is down.',
);

const pace = group(
  {
    delay: setting(
      delay,
      '0s',
      'The least distance between two starts; a range is drawn from uniformly.',
    ),
    concurrency: setting(atLeastOne, 32, 'Requests in flight at once.'),
    rate: setting(
      rate.nullable(),
      null,
      'A fixed ceiling in starts per second (or 30/m, 600/h); null: the lane learns it.',
    ),
    queue: setting(
      whole({ min: 0 }),
      1000,
      'Exchanges that may wait for their turn; the next is answered 503.',
    ),
  },
  'How fast a lane goes. A target with a pace of its own is its own lane within the host.',
);

const timeouts = group(
  {
    connect: setting(duration, '10s', "TCP, the upstream's handshake and TLS, each."),
    first_byte: setting(duration, '30s', 'From the request to the head of the reply.'),
    idle: setting(duration, '30s', 'Silence inside a body.'),
    sniff: setting(
      duration,
      '1s',
      'How long a silent client of a tunnel is waited for: then the server may be the one that speaks first.',
    ),
    linger: setting(duration, '5s', 'How long one side of a tunnel may outlive the other.'),
  },
  'Each step of an attempt has its own limit, so that the step that failed is known.',
);

const inspect = group(
  {
    bytes: setting(size, '256KiB', 'Decoded bytes of a body that are looked at.'),
    hold: setting(size, '1MiB', 'Bytes of a reply that are held back until it is judged.'),
    hold_for: setting(duration, '2s', 'A body of unknown length is held at most this long.'),
    types: setting(
      z.array(mediaType),
      ['text/*', 'application/json', 'application/*+json', 'application/xml'],
      'Media types that are inspected; a reply without a type is, too.',
    ),
  },
  'How much of a reply is looked at before a byte of it goes to the client.',
);

const deadLetters = group(
  {
    enabled: setting(flag, true, 'Keeps exchanges that were given up, to send them again later.'),
    cooldown: setting(duration, '1h', 'When a letter is due again, if the site named no time.'),
    max_redrives: setting(
      whole({ min: 0 }),
      3,
      'How often a letter is sent again by itself before it expires; 0: only by command.',
    ),
    keep: setting(duration, '7d', 'Letters are removed after this.'),
    keep_secrets: setting(
      flag,
      true,
      'Keeps Authorization and Cookie, without which many letters cannot be sent again.',
    ),
    redrive: setting(
      z.enum(['same_session', 'fresh_session']),
      'same_session',
      'A letter whose session has ended: same_session leaves it to the client; fresh_session sends it in a session of its own.',
    ),
    max_response: setting(
      size,
      '10MiB',
      'No more of a reply that a redrive brought is stored, or told to the webhook.',
    ),
    webhook: setting(
      z
        .strictObject({
          url: required(webUrl, 'Where each letter that is done is posted, with its reply.'),
          secret: required(secretText, 'The key of the HMAC in Forbear-Signature.'),
        })
        .nullable(),
      null,
      'Told of each letter that a redrive brought to an end.',
    ),
    serve_redriven: setting(
      duration.nullable(),
      null,
      'For so long after its redrive the same request gets the stored reply, without being sent; null: never.',
    ),
  },
  'What becomes of an exchange that was given up.',
);

const retryAfter = group(
  {
    max: setting(
      duration,
      '1h',
      'A longer wait ends the exchange; it is kept with that due time instead.',
    ),
  },
  'What a site may ask for.',
);

const routes = group(
  {
    rotation: setting(
      z.enum(['keep', 'fresh']),
      'keep',
      'keep stays with good addresses until they go bad; fresh takes a new one for each exchange.',
    ),
    warm: setting(autoCount, 'auto', 'Good addresses a lane keeps at hand; auto follows its load.'),
    max_uses: setting(
      atLeastOne.nullable(),
      null,
      'An address is retired after this many requests; null: never.',
    ),
    retire_for: setting(duration, '15m', 'How long a bad address stays out; doubles each time.'),
  },
  'How addresses are used outside of sessions.',
);

const sessions = group(
  {
    idle: setting(duration, '10m', 'A session ends after this long without a request.'),
    max_age: setting(duration, '30m', 'A session ends this long after its first request.'),
    burned_for: setting(
      duration,
      '1h',
      'The id of a burned session is refused for this long, so that a client does not go on by accident.',
    ),
  },
  'A session keeps one address for its life; it is never swapped.',
);

const softBlocks = group(
  {
    markers: setting(
      enforcement,
      'enforce',
      'Challenge and block pages behind a good status: off, report, or enforce.',
    ),
    learned: setting(
      enforcement,
      'report',
      'Pages unlike what the lane usually gets: off, report (a line in the log), or enforce.',
    ),
  },
  'Good statuses with bad pages.',
);

/** The keys of `policy` that hold further keys. */
export const policyGroups = {
  backoff,
  retry_after: retryAfter,
  budget,
  byte_budget: byteBudget,
  breaker,
  pace,
  routes,
  sessions,
  timeouts,
  inspect,
  soft_blocks: softBlocks,
  dead_letters: deadLetters,
};
