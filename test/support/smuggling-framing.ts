import { CHUNKED, HIDDEN, POST, type SmugglingCase, visible } from './smuggling-case.ts';

/** Codings, lengths, chunks and trailers. */
export function framingCases(): SmugglingCase[] {
  return [...codings(), ...lengths(), ...chunkSizes(), ...chunkEnds(), ...trailers()];
}

function codings(): SmugglingCase[] {
  const refused = [
    'Transfer-Encoding: xchunked',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: chunked, gzip',
    'Transfer-Encoding: chunked, identity',
    'Transfer-Encoding: identity, chunked',
    'Transfer-Encoding: identity',
    'Transfer-Encoding: chunked, chunked',
    'Transfer-Encoding: chunked;q=1',
    'Transfer-Encoding: "chunked"',
    'Transfer-Encoding: chunked,',
    'Transfer-Encoding: ,chunked',
    'Transfer-Encoding: \x0bchunked',
    'Transfer-Encoding: chunked\x0b',
    'Transfer-Encoding: \x0cchunked',
    'Transfer-Encoding: \xa0chunked',
    'Transfer-Encoding: chun\0ked',
    'Transfer-Encoding: chunked\0',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
    'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding:',
    'Transfer-Encoding:\r\n chunked',
    'Transfer-Encoding: chunked\r\n ',
    'Transfer-Encoding : chunked',
    'Transfer-Encoding\t: chunked',
    'Transfer-Encoding\0: chunked',
    '\0Transfer-Encoding: chunked',
    ' Transfer-Encoding: chunked',
    'Transfer-Encoding chunked',
    'Transfer-Encoding; chunked',
    'X: y\nTransfer-Encoding: chunked',
    'X: y\rTransfer-Encoding: chunked',
    'X: y\r\n\tTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\nX: y',
  ];
  const body = `0\r\n\r\n${HIDDEN}`;
  return refused.flatMap((line) =>
    [
      ['', 'alone'],
      ['Content-Length: 5\r\n', 'behind a length'],
      [`Content-Length: ${body.length}\r\n`, 'behind a length over all'],
    ].map(([length, where]) => ({
      name: `coding ${visible(line)}, ${where}`,
      bytes: `${POST}${length}${line}\r\n\r\n${body}`,
      outcome: 'refused' as const,
    })),
  );
}

function lengths(): SmugglingCase[] {
  const refused = [
    ...[
      '+6',
      '-6',
      '6,6',
      '6, 6',
      '6, 7',
      '0x6',
      '6.0',
      '6e0',
      '6;',
      '"6"',
      '6 6',
      '6\x0b',
      '\x0c6',
    ],
    ...['six', '6_0', '6\0', '\xb2', '18446744073709551622', '9'.repeat(30), '6\r\n 0', '\r\n 6'],
    ...[
      '6\r\nContent-Length: 7',
      '6\r\nContent-Length: 6',
      '6\r\ncontent-length: 0',
      '6\nX: y',
      '',
    ],
  ];
  const named = [
    'Content-Length : 6',
    'Content-Length\t: 6',
    'Content-Length\0: 6',
    ' Content-Length: 6',
  ];
  const both = [
    'Transfer-Encoding: chunked\r\nContent-Length: 6',
    'Content-Length: 6\r\nTransfer-Encoding: chunked',
  ];
  return [...refused.map((value) => `Content-Length: ${value}`), ...named, ...both].map((line) => ({
    name: `length ${visible(line)}`,
    bytes: `${POST}${line}\r\n\r\nhello!${HIDDEN}`,
    outcome: 'refused' as const,
  }));
}

function chunkSizes(): SmugglingCase[] {
  const refused = [
    ...[
      '0x5',
      '+5',
      '-5',
      ' 5',
      '5 ',
      '5\t',
      '5\n',
      '5\r',
      '5g',
      'g',
      '',
      '5\0',
      '5,5',
      '5 5',
      '5.0',
    ],
    ...[
      'fffffffffffffffff',
      '10000000000000005',
      '5;a=\n',
      '5;\0',
      '5;a\r',
      '5 ;a=b',
      '5;a="b\n"',
      '\xb5',
    ],
  ];
  const carried = ['5', '05', '0000000005', '5;a', '5;a=b', '5;a="b"'];
  const made = (outcome: SmugglingCase['outcome']) => (size: string) => ({
    name: `chunk size ${visible(size)}`,
    bytes: `${CHUNKED}${size}\r\nhello\r\n0\r\n\r\n${outcome === 'refused' ? HIDDEN : ''}`,
    outcome,
  });
  return [...refused.map(made('refused')), ...carried.map(made('carried'))];
}

function chunkEnds(): SmugglingCase[] {
  const refused = [
    ...[
      '5\r\nhello\n0\r\n\r\n',
      '5\r\nhello\r0\r\n\r\n',
      '5\r\nhello0\r\n\r\n',
      '5\r\nhellox\r\n0\r\n\r\n',
    ],
    ...[
      '5\r\nhello\n\r0\r\n\r\n',
      '5\r\nhello\r\n\r\n0\r\n\r\n',
      '0\n\n',
      '0\r\n\n',
      '0\r\r',
      '-0\r\n\r\n',
    ],
    ...['0x0\r\n\r\n', '0 \r\n\r\n', '5\r\nhel\r\n0\r\n\r\n', '\r\n0\r\n\r\n', '5\nhello\n0\n\n'],
  ];
  return [
    ...refused.map((body) => ({
      name: `chunks ${visible(body)}`,
      bytes: `${CHUNKED}${body}${HIDDEN}`,
      outcome: 'refused' as const,
    })),
    ...[
      '0\r\n\r\n',
      '00\r\n\r\n',
      '0;last\r\n\r\n',
      `${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`,
    ].map((body) => ({
      name: `chunks ${visible(body)}`,
      bytes: `${CHUNKED}${body}`,
      outcome: 'carried' as const,
    })),
  ];
}

function trailers(): SmugglingCase[] {
  const refused = [
    'Content-Length: 50',
    'Transfer-Encoding: chunked',
    'X : y',
    'X',
    ' X: y',
    'X: y\nZ: z',
    'X: y\0',
    'X\0: y',
    'X: y\r\n folded',
    ': y',
  ];
  const carried = [...['X: y', 'Host: b.test', 'X-1: a\r\nX-2: b']];
  const made = (outcome: SmugglingCase['outcome']) => (lines: string) => ({
    name: `trailer ${visible(lines)}`,
    bytes: `${CHUNKED}5\r\nhello\r\n0\r\n${lines}\r\n\r\n${outcome === 'refused' ? HIDDEN : ''}`,
    outcome,
  });
  return [...refused.map(made('refused')), ...carried.map(made('carried'))];
}
