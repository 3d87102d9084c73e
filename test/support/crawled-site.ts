import type { ResponseReply } from '../../src/core/verdict.ts';
import { prose, TONGUES } from '../corpus/filling.ts';
import { chance } from './chance.ts';
import { page, response, seen } from './judging.ts';

/** A site as a crawler sees it: the same URL and moment give the same reply. */
export interface CrawledSite {
  readonly name: string;
  /** The path that is asked for as the n-th. */
  path(n: number): string;
  reply(n: number): ResponseReply;
}

/** A site with what it serves in place of its pages. */
export interface BlockedSite extends CrawledSite {
  blocked(n: number): ResponseReply;
}

const [ENGLISH, GERMAN] = TONGUES;
if (!ENGLISH || !GERMAN) throw new Error('the tongues are gone');
const FRAME = prose(ENGLISH, 700, 1);
const NEW_FRAME = prose(GERMAN, 2600, 2);

const draw = (what: string, n: number): number => chance(what, n);
/** A bell-shaped draw around 0. */
const bell = (what: string, n: number): number =>
  Math.sqrt(-2 * Math.log(1 - draw(`${what}-a`, n))) * Math.cos(2 * Math.PI * draw(`${what}-b`, n));

const html = (title: string, body: string, end = '</body></html>'): ResponseReply =>
  page(`<!DOCTYPE html><html><head><title>${title}</title></head><body>${body}${end}`);
const data = (value: unknown): ResponseReply =>
  response({
    rawHeaders: ['Content-Type', 'application/json'],
    body: seen(JSON.stringify(value)),
  });
const redirect = (to: string): ResponseReply =>
  response({ status: 302, rawHeaders: ['Location', to], body: seen('') });

/** Words of its own for each document. */
function own(what: string, n: number, chars: number): string {
  let text = '';
  for (let i = 0; text.length < chars; i++) {
    const word = Math.floor(chance(what, n, i) * 26 ** 5).toString(26);
    text += `${word.replace(/\d/g, 'x')} ${i % 9 === 8 ? '</p><p>' : ''}`;
  }
  return `<p>${text}</p>`;
}

const items = (n: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    id: n * 1000 + i,
    name: own('name', n * 1000 + i, 12),
  }));
const list = (n: number, count: number): string =>
  `<ul>${Array.from({ length: count }, (_, i) => `<li class="item">${own('item', n * 60 + i, 30)}</li>`).join('')}</ul>`;

function productPage(n: number): ResponseReply {
  const chars = Math.round(Math.exp(7.5 + 0.6 * bell('size', n)));
  return html(`Pot ${own('t', n, 8).slice(3, 9)} | Garden shop`, FRAME + own('product', n, chars));
}

/** Sites that mean no harm, each honest in its own way. */
export const HONEST_SITES: readonly CrawledSite[] = [
  { name: 'a shop', path: (n) => `/p/${n}`, reply: productPage },
  {
    name: 'a shop whose sold-out goods lead to their category',
    path: (n) => `/p/${n}`,
    reply: (n) => (draw('sold', n) < 0.03 ? redirect('/c/pots') : productPage(n)),
  },
  {
    name: 'a search with an empty result now and then',
    path: (n) => `/search?q=${own('q', n, 6).slice(3, 8)}`,
    reply: (n) =>
      html('Search | Garden shop', FRAME + list(n, draw('hits', n) < 0.06 ? 0 : 5 + (n % 20))),
  },
  {
    name: 'a wiki of stubs and of long articles, titled by their subject alone',
    path: (n) => `/wiki/${n}`,
    reply: (n) =>
      html(own('w', n, 9).slice(3, 12), own('article', n, Math.exp(6.2 + 1.2 * bell('long', n)))),
  },
  {
    name: 'an interface with lists of all lengths',
    path: (n) => `/api/items?page=${n}`,
    reply: (n) =>
      data({ items: items(n, draw('len', n) < 0.02 ? 0 : Math.floor(draw('l', n) * 90)) }),
  },
  {
    name: 'an application that serves its shell everywhere',
    path: (n) => `/app/${n}`,
    reply: () => html('App', '<div id="root"></div><script src="/main.js"></script>'),
  },
  {
    name: 'a blog that now and then forgets its closing tag',
    path: (n) => `/post/${n}`,
    reply: (n) =>
      html('Post | Blog', own('post', n, 900 + (n % 700)), draw('end', n) < 0.05 ? '' : undefined),
  },
  {
    name: 'a site that sends each address to its new place',
    path: (n) => `/old/${n}`,
    reply: (n) => (n % 3 === 0 ? redirect(`/new/${n}`) : productPage(n)),
  },
];

const shop = productPage;
const api = (n: number) => data({ items: items(n, 200 + (n % 50)), next: n + 1 });
const BLOCK_TEXT = own('block', 1, 500);

/** What takes the place of a good reply once the crawler is found out. */
export const BLOCKS: readonly (CrawledSite & { readonly blocked: (n: number) => ResponseReply })[] =
  [
    {
      name: 'a page that says no, with an id on it',
      path: (n) => `/p/${n}`,
      reply: shop,
      blocked: (n) => html('Hello', `<p>${BLOCK_TEXT}</p><p>Id ${chance('id', n)}</p>`),
    },
    {
      name: 'the start page for every address',
      path: (n) => `/p/${n}`,
      reply: shop,
      blocked: () => html('Pots and more | Garden shop', FRAME + own('start', 1, 1800)),
    },
    {
      name: 'a redirect to one place',
      path: (n) => `/p/${n}`,
      reply: shop,
      blocked: (n) => redirect(`/welcome?from=${n}`),
    },
    {
      name: 'lists without entries',
      path: (n) => `/api/items?page=${n}`,
      reply: api,
      blocked: () => data({ items: [], next: null }),
    },
    {
      name: 'a page in place of data',
      path: (n) => `/api/items?page=${n}`,
      reply: api,
      blocked: () => html('Hello', BLOCK_TEXT),
    },
    {
      name: 'the layout with nothing in it',
      path: (n) => `/c/${n}`,
      reply: (n) => html(`Category ${n} | Garden shop`, FRAME + list(n, 30 + (n % 10))),
      blocked: (n) => html(`Category ${n} | Garden shop`, FRAME),
    },
    {
      name: 'pages cut off in the middle',
      path: (n) => `/p/${n}`,
      reply: shop,
      blocked: (n) => {
        const { body } = shop(n);
        const text = body.kind === 'seen' ? body.text : '';
        return page(text.slice(0, text.length * (0.3 + 0.4 * draw('cut', n))));
      },
    },
    {
      name: 'a few words',
      path: (n) => `/wiki/${n}`,
      reply: (n) => html(own('w', n, 9), own('article', n, 4000 + (n % 900))),
      blocked: () => page('<p>Please come back later.</p>'),
    },
  ];

/** The same shop with another title, another frame and shorter texts. */
export function redesigned(n: number): ResponseReply {
  return html(
    `Topf ${own('t', n, 8).slice(3, 9)} – Neuer Laden`,
    NEW_FRAME + own('product', n, 500),
  );
}

/** The same shop as before the change. */
export const beforeRedesign: (n: number) => ResponseReply = productPage;
