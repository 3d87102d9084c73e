import type { Marker } from './markers.ts';

/** Statuses that walls of no known maker come with. */
const GATE_STATUSES: readonly number[] = [200, 202, 203, 401, 403, 405, 429, 503];
const APPLICATION_ROOTS: readonly string[] = [
  'id="root"',
  'id="app"',
  'id="__next"',
  'id="__nuxt"',
  '<app-root',
];
const LOGIN_FIELDS: readonly string[] = [
  'type="password"',
  "type='password'",
  'type=password',
  'type="email"',
  'name="email"',
];

/** Walls of no known maker: small pages that ask for a captcha or a browser and hold nothing else. */
export const WALLS: readonly Marker[] = [
  {
    id: 'browser-check',
    kind: 'wall',
    signs: [
      { text: ['checking your browser before', 'checking if the site connection is secure'] },
      { text: ['ddos protection', 'up to 5 seconds', 'redirect'], body: ['jschl'] },
    ],
    maxText: 800,
    statuses: GATE_STATUSES,
  },
  {
    id: 'captcha-gate',
    kind: 'wall',
    signs: [
      {
        body: [
          'g-recaptcha',
          'recaptcha/api.js',
          'recaptcha/enterprise.js',
          'h-captcha',
          'hcaptcha.com/1/api.js',
          'cf-turnstile',
          'challenges.cloudflare.com/turnstile',
          'geetest',
          'arkoselabs.com',
        ],
      },
      {
        text: [
          'you are human',
          "you're human",
          'you are a human',
          'are you a robot',
          'not a robot',
          'not a bot',
          'complete the captcha',
          'solve the captcha',
          'security check',
          'unusual traffic',
          'unusual activity',
          'suspicious activity',
          'automated requests',
        ],
      },
    ],
    unless: LOGIN_FIELDS,
    maxText: 600,
    statuses: GATE_STATUSES,
  },
  {
    id: 'javascript-wall',
    kind: 'wall',
    signs: [
      {
        text: [
          'enable javascript',
          'enable js',
          'turn on javascript',
          'javascript is disabled',
          'javascript is required',
        ],
      },
      {
        text: [
          'not a robot',
          'not a bot',
          'you are human',
          'unusual traffic',
          'unusual activity',
          'security check',
          'checking your browser',
          'access to this page has been denied',
          'disable any ad blocker',
        ],
      },
    ],
    unless: [...APPLICATION_ROOTS, ...LOGIN_FIELDS],
    maxText: 600,
    statuses: GATE_STATUSES,
  },
];
