import { baggage, prose, TONGUES, type Tongue } from './filling.ts';
import { NEAR_MISSES } from './near-misses.ts';
import { type Charset, type Coding, type CorpusReply, onTheWire, type Told } from './reply.ts';

const CODINGS: readonly Coding[] = ['gzip', 'identity', 'br', 'zstd', 'deflate'];

/** Replies that are what they seem. */
export function goodReplies(): readonly CorpusReply[] {
  return [...TONGUES.flatMap(ofTongue), ...encodings(), ...bodies(), ...nearMisses()];
}

function ofTongue(tongue: Tongue, index: number): readonly CorpusReply[] {
  const { code, shop, nothing, login, noScript, cookies } = tongue;
  const text = (chars: number, seed: number) => prose(tongue, chars, seed + index * 100);
  const html = (title: string, body: string, seed: number) =>
    `<!DOCTYPE html><html lang="${code}"><head><title>${title} | ${shop}</title>${baggage(seed + index)}</head><body><nav>A B C</nav>${body}</body></html>`;
  const pages: readonly (readonly [what: string, text: string, path?: string])[] = [
    ['product', html('9 l', text(3000, 1), 1), '/p/9'],
    ['short product', html('9 l', text(250, 2), 2), '/p/2'],
    ['list', html('A-Z', `<ul>${'<li><a href="/p/1">x</a></li>'.repeat(60)}</ul>`, 3), '/c/pots'],
    ['nothing found', html('0', `<p>${nothing}</p>`, 4), '/search?q=zzz'],
    [
      'login form with reCAPTCHA',
      html(
        'Login',
        `<form><p>${login}</p><input name="email"><input type="password"><div class="g-recaptcha" data-sitekey="x"></div></form><script src="https://www.google.com/recaptcha/api.js"></script>`,
        5,
      ),
      '/login',
    ],
    [
      'login form at the root',
      html('Login', `<form><p>${login}</p><input type="password"></form>`, 6),
      '/',
    ],
    [
      'contact form with a captcha',
      html(
        'Contact',
        `<form><textarea name="message"></textarea><input type="email" name="from"><div class="h-captcha"></div></form><script src="https://js.hcaptcha.com/1/api.js"></script>`,
        7,
      ),
      '/contact',
    ],
    [
      'application shell',
      html(
        'App',
        `<noscript>${noScript}</noscript><div id="root"></div><script src="/main.js"></script>`,
        8,
      ),
      '/app',
    ],
    ['cookie banner', html('News', `<div id="cookie-banner">${cookies}</div>${text(400, 9)}`, 9)],
    [
      'behind invisible protection',
      html(
        'Shop',
        `${text(300, 10)}<script>window.__CF$cv$params={r:'8f',t:'MT'};var a=document.createElement('script');a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'</script><script src="https://js.datadome.co/tags.js"></script><script>window._pxAppId='PX12'</script>`,
        10,
      ),
    ],
  ];
  return pages.map(([what, page, path], i) =>
    onTheWire({
      name: `${code}: ${what}`,
      text: page,
      path: path ?? '/items/7',
      coding: CODINGS[(i + index) % CODINGS.length] ?? 'gzip',
      headers: i % 2 === 0 ? ['Server', 'cloudflare', 'CF-RAY', '1'] : ['Server', 'nginx'],
    }),
  );
}

function encodings(): readonly CorpusReply[] {
  const rows: readonly (readonly [code: string, charset: Charset, told: Told])[] = [
    ['de', 'iso-8859-1', 'header'],
    ['de', 'iso-8859-1', 'meta'],
    ['fr', 'iso-8859-1', 'nowhere'],
    ['es', 'utf-16le', 'mark'],
    ['ru', 'utf-16be', 'mark'],
    ['ru', 'utf-16le', 'header'],
    ['ja', 'shift_jis', 'header'],
    ['ja', 'shift_jis', 'meta'],
    ['ja', 'shift_jis', 'nowhere'],
    ['zh', 'utf-8', 'mark'],
    ['en', 'utf-16le', 'nowhere'],
  ];
  return rows.map(([code, charset, told]) => {
    const tongue = TONGUES.find((each) => each.code === code) ?? TONGUES[0];
    const body = tongue ? prose(tongue, 900, 5) + tongue.nothing : '';
    const text = `<html><head><title>9</title></head><body>${body}</body></html>`;
    return onTheWire({ name: `${code} in ${charset} told by ${told}`, text, charset, told });
  });
}

function bodies(): readonly CorpusReply[] {
  const json = 'application/json';
  const rows: readonly (readonly [what: string, type: string, text: string])[] = [
    ['nothing at all', 'text/html', ''],
    ['two letters', 'text/plain', 'ok'],
    ['a number', json, '1'],
    ['an empty list', json, '[]'],
    ['an empty result', json, '{"items":[],"total":0}'],
    ['a long list', json, JSON.stringify(Array.from({ length: 300 }, (_, id) => ({ id })))],
    ['an error of its own', json, '{"error":"product not found","code":404}'],
    ['terms in data', json, '{"plan":"free","rate_limit":"100 per hour","remaining":12}'],
    [
      'a chat in data',
      json,
      '{"messages":[{"text":"I got too many requests again, are you human?"}]}',
    ],
    ['a setting in data', json, '{"captcha":{"provider":"hcaptcha","sitekey":"1"},"theme":"dark"}'],
    [
      'a feed',
      'application/rss+xml',
      '<rss version="2.0"><channel><title>News</title><item><title>Just a moment: Cloudflare was down</title></item></channel></rss>',
    ],
    [
      'an atom feed',
      'application/xml',
      '<feed><entry><title>Access denied: a short story</title></entry></feed>',
    ],
    ['a site map', 'text/xml', '<urlset><url><loc>https://shop.test/captcha</loc></url></urlset>'],
    ['a script', 'text/javascript', 'var dd={};load("https://ct.captcha-delivery.com/c.js")'],
    ['a style', 'text/css', '.g-recaptcha{display:none}#px-captcha{color:red}'],
    ['a table', 'text/csv', 'id,reason\n1,unusual traffic from your ip address\n'],
    ['robots', 'text/plain', 'User-agent: *\nDisallow: /captcha\nDisallow: /login\n'],
    ['a fragment', 'text/html', '<li>one</li><li>two</li>'],
    ['a picture', 'image/png', '\u0089PNG\r\n\u0000 Just a moment... _cf_chl_opt'],
    ['a download', 'application/octet-stream', '\u0000\u0001captcha-delivery.com dd={'],
    [
      'a picture under a wrong label',
      'text/html',
      'GIF89a\u0000\u0000_Incapsula_Resource incident_id',
    ],
    ['a page without a label', '', '<html><body>hello</body></html>'],
    [
      'a chunk of a template',
      'text/html',
      '<template>{{#if captcha}}<div class="g-recaptcha">{{/if}}',
    ],
  ];
  return rows.map(([name, type, text], i) =>
    onTheWire({
      name,
      type,
      text,
      told: 'nowhere',
      coding: CODINGS[i % CODINGS.length] ?? 'gzip',
    }),
  );
}

function nearMisses(): readonly CorpusReply[] {
  return NEAR_MISSES.map(({ name, html, path, status, headers }, i) =>
    onTheWire({
      name,
      text: html,
      path: path ?? '/news/12',
      status: status ?? 200,
      headers: headers ?? [],
      coding: CODINGS[i % CODINGS.length] ?? 'gzip',
    }),
  );
}
