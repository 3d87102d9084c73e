/** Any of these shows the sign. All text in lower case. */
export interface Sign {
  /** Anywhere in the page's source. */
  readonly body?: readonly string[];
  /** In the title or in what a reader sees. */
  readonly text?: readonly string[];
  /** In the title. */
  readonly title?: readonly string[];
  /** A field by its name, its value holding the text (empty: any value). */
  readonly header?: readonly [name: string, has: string];
}

export interface Marker {
  readonly id: string;
  /** A challenge or wall asks for something first, a block says no, a throttle says less. */
  readonly kind: 'challenge' | 'wall' | 'block' | 'throttle';
  /** Signs that do not come from one another; all must show. None: only `proof` counts. */
  readonly signs: readonly Sign[];
  /** A field that proves it alone: no good reply carries it. Any of its words in the value. */
  readonly proof?: { readonly header: string; readonly words: readonly string[] };
  /** Source text that speaks against it. */
  readonly unless?: readonly string[];
  /** Characters of readable text above which it is a page with a content of its own. */
  readonly maxText?: number;
  /** Statuses it is looked for under; absent: any. */
  readonly statuses?: readonly number[];
}

const CLOUDFLARE: Sign = {
  header: ['server', 'cloudflare'],
  body: ['cloudflare ray id', 'performance &amp; security by', 'cf-error-details'],
};
/** Refusals by rule, address, country or signature; the neighbours are faults of DNS and of the site. */
const CLOUDFLARE_REFUSALS = [1005, 1006, 1007, 1008, 1009, 1010, 1012, 1020];

/** Challenge, block and throttle pages of known makers. The first row that fits names it, so the narrower come first. */
export const VENDOR_MARKERS: readonly Marker[] = [
  {
    id: 'cloudflare-challenge',
    kind: 'challenge',
    proof: { header: 'cf-mitigated', words: ['challenge'] },
    signs: [
      {
        title: ['just a moment', 'attention required! | cloudflare', 'please wait... | cloudflare'],
        text: ['enable javascript and cookies to continue', 'needs to review the security of your'],
        body: ['id="challenge-form"', 'id="challenge-error-text"'],
      },
      { body: ['/cdn-cgi/challenge-platform/', '_cf_chl_opt', '__cf_chl_'] },
    ],
  },
  {
    id: 'cloudflare-rate-limit',
    kind: 'throttle',
    signs: [{ text: ['error code: 1015', 'error 1015', 'you are being rate limited'] }, CLOUDFLARE],
  },
  {
    id: 'cloudflare-block',
    kind: 'block',
    signs: [
      {
        text: [
          ...CLOUDFLARE_REFUSALS.flatMap((code) => [`error code: ${code}`, `error ${code}`]),
          'sorry, you have been blocked',
        ],
      },
      CLOUDFLARE,
    ],
  },
  {
    id: 'aws-waf-challenge',
    kind: 'challenge',
    proof: { header: 'x-amzn-waf-action', words: ['challenge', 'captcha'] },
    signs: [
      { body: ['window.gokuprops', 'awswafcookiedomainlist'] },
      {
        body: ['id="challenge-container"', 'id="captcha-container"'],
        text: ['javascript is disabled', 'confirm you are human', "let's confirm you are human"],
      },
    ],
  },
  {
    id: 'vercel-challenge',
    kind: 'challenge',
    proof: { header: 'x-vercel-mitigated', words: ['challenge'] },
    signs: [],
  },
  {
    id: 'vercel-block',
    kind: 'block',
    proof: { header: 'x-vercel-mitigated', words: ['deny'] },
    signs: [],
  },
  {
    id: 'akamai-challenge',
    kind: 'challenge',
    signs: [
      { body: ['sec-if-cpt-container', 'sec-bc-tile-container'] },
      { body: ['/_sec/cp_challenge/', 'sec-cpt-if', 'powered and protected by'] },
    ],
  },
  {
    id: 'akamai-block',
    kind: 'block',
    signs: [
      { title: ['access denied'], text: ["you don't have permission to access"] },
      {
        body: ['errors.edgesuite.net', 'reference&#32;&#35;', 'reference #'],
        header: ['server', 'akamaighost'],
      },
    ],
  },
  {
    id: 'imperva-block',
    kind: 'block',
    signs: [
      { body: ['_incapsula_resource'] },
      { body: ['incident_id', 'incident id', 'request unsuccessful'] },
    ],
  },
  {
    // On good replies too there is an x-datadome: it counts only beside a refusing status.
    id: 'datadome-block',
    kind: 'challenge',
    signs: [
      { header: ['x-datadome', ''] },
      { header: ['x-dd-b', ''], body: ['captcha-delivery.com'] },
    ],
    statuses: [401, 403, 405, 429],
  },
  {
    id: 'datadome-challenge',
    kind: 'challenge',
    signs: [
      { body: ['captcha-delivery.com'] },
      {
        body: ['var dd=', 'dd={', 'initialcid='],
        text: ['please enable js and disable any ad blocker'],
      },
    ],
  },
  {
    id: 'perimeterx-challenge',
    kind: 'challenge',
    signs: [
      { body: ['px-captcha', '"blockscript"', 'press &amp; hold', 'press & hold'] },
      { body: ['_pxappid', 'px-cloud.net', 'perimeterx', '"appid":"px', '"appid": "px'] },
    ],
  },
  {
    id: 'kasada-challenge',
    kind: 'challenge',
    signs: [
      { body: ['/ips.js?', '/ips.js"'] },
      { body: ['window.kpsdk', 'kpsdk={}'], header: ['x-kpsdk-ct', ''] },
    ],
  },
  {
    id: 'sucuri-block',
    kind: 'block',
    proof: { header: 'x-sucuri-block', words: [''] },
    signs: [
      { text: ['sucuri website firewall', 'sucuri cloudproxy'], body: ['cloudproxy@sucuri.net'] },
      { text: ['access denied', 'block id', 'block reason'] },
    ],
  },
  {
    id: 'sucuri-challenge',
    kind: 'challenge',
    signs: [
      { body: ['sucuri_cloudproxy_js'] },
      { title: ['you are being redirected'], text: ['javascript is required'] },
    ],
  },
  {
    id: 'f5-block',
    kind: 'block',
    signs: [
      { text: ['the requested url was rejected'], title: ['request rejected'] },
      { text: ['support id is', 'please consult with your administrator'] },
    ],
  },
  {
    id: 'f5-challenge',
    kind: 'challenge',
    signs: [{ body: ['window["bobcmn"]'] }, { body: ['/tspd/'] }],
  },
  {
    id: 'google-sorry',
    kind: 'challenge',
    signs: [
      { text: ['unusual traffic from your computer network', 'detected unusual traffic'] },
      { body: ['id="captcha-form"', 'g-recaptcha', '/sorry/'] },
    ],
  },
  {
    id: 'amazon-robot-check',
    kind: 'challenge',
    signs: [
      { body: ['/errors/validatecaptcha'] },
      {
        text: [
          'type the characters',
          'enter the characters you see',
          "make sure you're not a robot",
          'continue shopping',
        ],
      },
    ],
  },
  {
    id: 'yandex-captcha',
    kind: 'challenge',
    signs: [
      { body: ['/showcaptcha', 'smartcaptcha'] },
      { text: ['are you not a robot', 'requests from your device look', 'not a robot'] },
    ],
  },
  {
    id: 'ddos-guard-challenge',
    kind: 'challenge',
    signs: [
      {
        header: ['server', 'ddos-guard'],
        body: ['check.ddos-guard.net', '/.well-known/ddos-guard/'],
      },
      { title: ['ddos-guard'], text: ['checking your browser'] },
    ],
  },
  {
    id: 'anubis-challenge',
    kind: 'challenge',
    signs: [
      { body: ['id="anubis_challenge"', '/.within.website/x/cmd/anubis/'] },
      { text: ["making sure you're not a bot", 'making sure you&#39;re not a bot'] },
    ],
  },
  {
    id: 'wordfence-block',
    kind: 'block',
    signs: [
      { text: ['generated by wordfence'] },
      { text: ['has been limited', 'has been blocked', 'access to this site'] },
    ],
  },
];
