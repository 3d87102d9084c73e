import { createHash } from 'node:crypto';
import { chance } from './chance.ts';

const WORDS = [
  'amber basin cedar delta ember fjord grove haven inlet jetty knoll lagoon meadow narrow orchard',
  'prairie quarry ravine summit thicket upland valley willow yonder zephyr harbor island canyon',
]
  .join(' ')
  .split(' ');
const WORDS_PER_PAGE = 220;

/** The one right page behind a path: it carries its id and the hash of its text. */
export function itemPage(seed: number, path: string): string {
  const words = Array.from({ length: WORDS_PER_PAGE }, (_, n) => {
    return WORDS[Math.floor(chance(seed, path, 'word', n) * WORDS.length)];
  });
  const text = words.join(' ');
  const hash = createHash('sha256').update(text).digest('hex');
  return [
    '<!doctype html>',
    `<html><head><title>${path}</title></head>`,
    `<body><article data-id="${path}" data-hash="${hash}">${text}</article></body></html>`,
    '',
  ].join('\n');
}

/** What a browser would have to solve; it comes with status 200. */
export const CHALLENGE_PAGE = [
  '<!doctype html>',
  '<html><head><title>Just a moment...</title></head>',
  '<body><noscript>Enable JavaScript and cookies to continue</noscript>',
  '<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script></body></html>',
  '',
].join('\n');
