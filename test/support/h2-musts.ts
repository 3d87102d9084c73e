import {
  CODE,
  continuation,
  data,
  type Field,
  FLAG,
  type Frame,
  frame,
  goaway,
  headers,
  hpack,
  PREFACE,
  ping,
  request,
  rstStream,
  SETTING,
  settings,
  TYPE,
  windowUpdate,
} from './h2-frames.ts';

/** One demand on a server: the section of RFC 9113, what is sent behind the preface and SETTINGS, and in which bytes. */
type Sent = readonly [section: string, what: string, ...frames: Buffer[]];

const HOST = 'o.test';
const GET = request('/', HOST);
const SLOW = request('/slow', HOST);
const get = (...more: readonly Field[]) => headers(1, [...GET, ...more]);
const open = (...more: readonly Field[]) => headers(1, [...GET, ...more], FLAG.endHeaders);
const but = (name: string) => GET.filter(([one]) => one !== name);
const block = (bytes: Uint8Array, flags = 5) => frame(TYPE.headers, flags, 1, bytes);
const setting = (id: number, value: number) => settings([id, value]);
const bytes = (...values: readonly number[]) => Buffer.from(values);
const zeros = (length: number) => Buffer.alloc(length);
const { protocolError, frameSizeError, flowControlError, compressionError, streamClosed } = CODE;
const MOST = 2 ** 31 - 1;
const flood = Array.from({ length: 100 }, () => data(1, zeros(16_384)));

/** Ends the connection, with this code in its GOAWAY. */
export const CONNECTION_ERRORS: readonly (readonly [code: number, ...sent: Sent])[] = [
  [frameSizeError, '4.2', 'a frame above MAX_FRAME_SIZE', open(), data(1, zeros(16_385))],
  [compressionError, '4.3', 'fields that cannot be decoded', block(zeros(9).fill(0xff))],
  [compressionError, '4.3', 'an index beyond the table', block(bytes(0xfe))],
  [compressionError, '4.3.1', 'a table above SETTINGS', block(bytes(0x3f, 0xe2, 0x1f, 0x82))],
  [protocolError, '5.1', 'DATA on an idle stream', data(1, 'x')],
  [protocolError, '5.1', 'RST_STREAM on an idle stream', rstStream(1, CODE.cancel)],
  [protocolError, '5.1', 'WINDOW_UPDATE on an idle stream', windowUpdate(1, 1)],
  [streamClosed, '5.1', 'DATA behind END_STREAM', headers(1, SLOW), data(1, 'x')],
  [streamClosed, '5.1', 'HEADERS behind END_STREAM', headers(1, SLOW), headers(1, GET)],
  [protocolError, '5.1.1', 'an even stream', headers(2, GET)],
  [protocolError, '5.5', 'a frame inside a field block', block(hpack(GET), 1), frame(0xbe, 0, 1)],
  [protocolError, '6.1', 'DATA on stream 0', data(0, 'x')],
  [protocolError, '6.1', 'more padding than DATA', open(), data(1, bytes(5, 1, 2), FLAG.padded)],
  [protocolError, '6.2', 'HEADERS on stream 0', headers(0, GET)],
  [protocolError, '6.2', 'more padding than HEADERS', block(bytes(255, 0x82), 5 | FLAG.padded)],
  [frameSizeError, '6.3', 'PRIORITY of 4 bytes', open(), frame(TYPE.priority, 0, 1, zeros(4))],
  [protocolError, '6.4', 'RST_STREAM on stream 0', rstStream(0, CODE.cancel)],
  [frameSizeError, '6.4', 'RST_STREAM of 3 bytes', open(), frame(TYPE.rstStream, 0, 1, zeros(3))],
  [protocolError, '6.5', 'SETTINGS on a stream', frame(TYPE.settings, 0, 1)],
  [frameSizeError, '6.5', 'an ACK with settings', frame(TYPE.settings, FLAG.ack, 0, zeros(6))],
  [frameSizeError, '6.5', 'SETTINGS of 5 bytes', frame(TYPE.settings, 0, 0, zeros(5))],
  [protocolError, '6.5.2', 'ENABLE_PUSH of 2', setting(SETTING.enablePush, 2)],
  [flowControlError, '6.5.2', 'a window of 2^31', setting(SETTING.initialWindowSize, MOST + 1)],
  [protocolError, '6.5.2', 'frames below 2^14', setting(SETTING.maxFrameSize, 16_383)],
  [protocolError, '6.5.2', 'frames of 2^24', setting(SETTING.maxFrameSize, 2 ** 24)],
  [protocolError, '6.6', 'PUSH_PROMISE', open(), frame(TYPE.pushPromise, 4, 1, bytes(0, 0, 0, 2))],
  [protocolError, '6.7', 'PING on a stream', frame(TYPE.ping, 0, 1, zeros(8))],
  [frameSizeError, '6.7', 'PING of 6 bytes', frame(TYPE.ping, 0, 0, zeros(6))],
  [protocolError, '6.8', 'GOAWAY on a stream', frame(TYPE.goaway, 0, 1, zeros(8))],
  [protocolError, '6.9', 'an increment of 0', windowUpdate(0, 0)],
  // A stream error would do here and below; RFC 9113 section 5.4 leaves the choice.
  [protocolError, '6.9', 'an increment of 0 on a stream', open(), windowUpdate(1, 0)],
  [frameSizeError, '6.9', 'WINDOW_UPDATE of 3 bytes', frame(TYPE.windowUpdate, 0, 0, zeros(3))],
  [flowControlError, '6.9.1', 'a window above 2^31-1', windowUpdate(0, MOST)],
  [flowControlError, '6.9.1', 'a stream above 2^31-1', open(), windowUpdate(1, MOST)],
  [flowControlError, '6.9.1', 'more DATA than the window', headers(1, SLOW, 4), ...flood],
  [protocolError, '6.10', 'CONTINUATION without HEADERS', continuation(1, hpack(GET), 4)],
  [protocolError, '6.10', 'one of another stream', block(hpack(GET), 1), continuation(3, zeros(0))],
  [protocolError, '6.10', 'one behind END_HEADERS', open(), continuation(1, zeros(0), 4)],
  [
    ...[CODE.internalError, '8.1.1', 'more than Content-Length'],
    ...[open(['content-length', '2']), data(1, 'abc', FLAG.endStream)],
  ] as [number, string, string, Buffer, Buffer],
];

/** Ends the stream with PROTOCOL_ERROR (RFC 9113 section 8.1.1), and no other. */
export const MALFORMED: readonly Sent[] = [
  ['8.1', 'trailers without END_STREAM', open(), headers(1, [['x-t', '1']], 4)],
  ['8.1', 'a pseudo-field in trailers', open(), headers(1, [[':method', 'GET']])],
  ['8.1.1', 'less than Content-Length', open(['content-length', '5']), data(1, 'abc', 1)],
  ['8.1.1', 'Content-Length without a body', get(['content-length', '5'])],
  ['8.1.1', 'two lengths', open(['content-length', '1'], ['content-length', '1']), data(1, 'a', 1)],
  ['8.2.1', 'a name in upper case', get(['X-Up', '1'])],
  ['8.2.2', 'connection', get(['connection', 'x'])],
  ['8.2.2', 'keep-alive', get(['keep-alive', 'timeout=5'])],
  ['8.2.2', 'proxy-connection', get(['proxy-connection', 'keep-alive'])],
  ['8.2.2', 'transfer-encoding', get(['transfer-encoding', 'chunked'])],
  ['8.2.2', 'upgrade', get(['upgrade', 'websocket'])],
  ['8.2.2', 'TE other than trailers', get(['te', 'gzip'])],
  ['8.3', 'a pseudo-field behind a field', headers(1, [['x', '1'], ...GET])],
  ['8.3', 'a pseudo-field that nobody knows', get([':x', '1'])],
  ['8.3', ':status in a request', get([':status', '200'])],
  ['8.3.1', 'two of :method', get([':method', 'GET'])],
  ['8.3.1', 'two of :scheme', get([':scheme', 'https'])],
  ['8.3.1', 'two of :authority', get([':authority', HOST])],
  ['8.3.1', 'two of :path', get([':path', '/'])],
  ['8.3.1', 'no :method', headers(1, but(':method'))],
  ['8.3.1', 'no :scheme', headers(1, but(':scheme'))],
  ['8.3.1', 'no :path', headers(1, but(':path'))],
  ['8.3.1', 'neither :authority nor Host', headers(1, but(':authority'))],
  ['8.3.1', 'two Hosts', headers(1, [...but(':authority'), ['host', HOST], ['host', HOST]])],
  ['8.3.1', 'an empty :path', headers(1, request('', HOST))],
  ['8.3.1', 'a :path without a slash', headers(1, request('x', HOST))],
  ['8.3.1', 'a space in :path', headers(1, request('/a b', HOST))],
  ['8.3.1', 'a line end in :path', headers(1, request('/ HTTP/1.1\r\nx: y', HOST))],
  ['8.3.1', 'a space in :method', headers(1, [[':method', 'G ET'], ...but(':method')])],
  ['8.3.1', 'user information in :authority', headers(1, request('/', `u:p@${HOST}`))],
  ['8.5', 'CONNECT with a path', headers(1, [[':method', 'CONNECT'], ...but(':method')], 4)],
  ['RFC 8441 4', ':protocol without CONNECT', get([':protocol', 'websocket'])],
];

const padded = block(Buffer.concat([bytes(3), hpack(GET), zeros(3)]), 5 | FLAG.padded);
const pieces = [block(hpack(GET).subarray(0, 9), 1), continuation(1, hpack(GET).subarray(9), 4)];

/** Is served like any request, on stream 1. */
export const SERVED: readonly Sent[] = [
  ['4.1', 'an unknown frame type', frame(0xbe, 0xff, 0, zeros(3)), get()],
  [
    '4.1',
    'unknown flags, and the reserved bit',
    frame(TYPE.headers, 0xd7, 2 ** 31 + 1, hpack(GET)),
  ],
  ['5.1', 'PRIORITY on an idle stream', frame(TYPE.priority, 0, 7, bytes(0, 0, 0, 0, 1)), get()],
  ['6.1', 'padded DATA', open(), data(1, bytes(2, 65, 0, 0), FLAG.padded | FLAG.endStream)],
  ['6.2', 'padded HEADERS', padded],
  ['6.5.2', 'a setting that nobody knows', setting(0xbeef, 1), get()],
  ['6.8', 'GOAWAY behind a request', get(), goaway(0, CODE.noError)],
  ['6.10', 'a field block in pieces', ...pieces],
  ['8.2.2', 'TE: trailers', get(['te', 'trailers'])],
  ['8.3.1', 'Host instead of :authority', headers(1, [...but(':authority'), ['host', HOST]])],
];

/** Is left out by the library, where RFC 9113 asks for an error: nothing of it gets through. */
export const LEFT_OUT: readonly Sent[] = [
  ['5.1.1', 'a stream below the last one', headers(5, GET), headers(3, GET)],
  ['6.3', 'PRIORITY on stream 0', frame(TYPE.priority, 0, 0, zeros(5))],
  ['8.2.1', 'a name with a space', headers(5, [...GET, ['x up', '1']])],
  ['8.2.1', 'an empty name', headers(5, [...GET, ['', '1']])],
  ['8.2.1', 'a line end in a value', headers(5, [...GET, ['x', 'a\r\nb: c']])],
  ['8.2.1', 'NUL in a value', headers(5, [...GET, ['x', 'a\0b']])],
  ['8.2.1', 'space around a value', headers(5, [...GET, ['x', ' a ']])],
];

/** Is well-formed, and answered with this status. */
export const REFUSED: readonly (readonly [status: number, ...sent: Sent])[] = [
  [400, '8.3.1', 'a Host that differs', get(['host', 'other.test'])],
  [421, '8.3.1', 'another authority', headers(1, request('/', 'other.test'))],
  [421, '8.3.1', 'another scheme', headers(1, [[':scheme', 'http'], ...but(':scheme')])],
  [
    400,
    '8.5',
    'CONNECT',
    headers(
      1,
      [
        [':method', 'CONNECT'],
        [':authority', 'x.test:443'],
      ],
      4,
    ),
  ],
];

/** Is answered by a frame of its own. */
export const ANSWERED: readonly (readonly [isAnswer: (one: Frame) => boolean, ...sent: Sent])[] = [
  [(one) => one.type === TYPE.settings && one.flags === FLAG.ack, '6.5.3', 'SETTINGS', settings()],
  [
    ({ payload }) => payload.toString() === '8 octets',
    '6.7',
    'PING',
    ping(Buffer.from('8 octets')),
  ],
  [
    ({ type, payload }) => type === TYPE.data && payload.toString() === 'ok',
    ...['6.9.2', 'a window that opens later'],
    ...[setting(SETTING.initialWindowSize, 0), get(), setting(SETTING.initialWindowSize, 9)],
  ] as [(one: Frame) => boolean, string, string, ...Buffer[]],
];

/** What a connection begins with instead of its preface and SETTINGS: it ends with this code. */
export const BEGINNINGS: readonly (readonly [code: number, ...sent: Sent])[] = [
  [
    CODE.internalError,
    '3.4',
    'a preface that is none',
    Buffer.from('PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n'),
  ],
  [protocolError, '3.4', 'another frame than SETTINGS', Buffer.concat([PREFACE, ping()])],
];
