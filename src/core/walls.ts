import type { Marker } from './marker.ts';
import {
  ARE_YOU_HUMAN,
  CONSENT_FIRST,
  LOGIN_FIRST,
  NO_SCRIPTS,
  UNUSUAL_TRAFFIC,
  YOUR_ADDRESS,
} from './marker-words.ts';

/** Statuses that walls of no known maker come with. */
const GATE_STATUSES: readonly number[] = [200, 202, 203, 401, 403, 405, 429, 503];
const APPLICATION_ROOTS: readonly string[] = [
  'id="root"',
  'id="app"',
  'id="__next"',
  'id="__nuxt"',
  '<app-root',
];
const PASSWORD_FIELDS: readonly string[] = [
  'type="password"',
  "type='password'",
  'type=password',
  'current-password',
];
const LOGIN_FIELDS: readonly string[] = [...PASSWORD_FIELDS, 'type="email"', 'name="email"'];
/** A form that is there for its own sake may well have a captcha in it. */
const FORM_FIELDS: readonly string[] = [
  ...LOGIN_FIELDS,
  'type="tel"',
  'name="name"',
  'name="message"',
  'name="comment"',
  'name="subject"',
];

/** Places where a login, or an account's own page, is what was asked for. */
const LOGIN_PATHS: readonly string[] = [
  '/',
  'login',
  'logon',
  'log-in',
  'signin',
  'sign-in',
  'sign_in',
  'signup',
  'sign-up',
  'register',
  'auth',
  'sso',
  'account',
  'session',
  'password',
  'admin',
  'dashboard',
  'settings',
  'profile',
  'member',
  'user',
  'checkout',
  'cart',
  '/my',
];
const CONSENT_PATHS: readonly string[] = ['consent', 'privacy', 'cookie', 'gdpr', 'legal'];

/** Walls of no known maker: small pages that ask for a captcha, a browser or a login and hold nothing else. */
export const WALLS: readonly Marker[] = [
  {
    id: 'browser-check',
    kind: 'wall',
    signs: [
      {
        text: [
          'checking your browser',
          'checking if the site connection is secure',
          'verifying your browser',
          'ihr browser wird überprüft',
          'vérification de votre navigateur',
          'comprobando su navegador',
          'проверка браузера',
          'проверяем ваш браузер',
        ],
      },
      {
        text: ['ddos protection', 'ddos-schutz', 'up to 5 seconds', '5 sekunden', 'redirect'],
        body: ['jschl', 'http-equiv="refresh"', 'location.reload('],
      },
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
          'funcaptcha',
          'mtcaptcha',
          'friendlycaptcha',
          'frc-captcha',
        ],
      },
      { text: [...ARE_YOU_HUMAN, ...UNUSUAL_TRAFFIC] },
    ],
    unless: FORM_FIELDS,
    maxText: 600,
    statuses: GATE_STATUSES,
  },
  {
    id: 'javascript-wall',
    kind: 'wall',
    signs: [
      { text: NO_SCRIPTS },
      {
        text: [
          ...ARE_YOU_HUMAN,
          ...UNUSUAL_TRAFFIC,
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
  {
    id: 'traffic-wall',
    kind: 'wall',
    signs: [{ text: UNUSUAL_TRAFFIC }, { text: YOUR_ADDRESS }],
    unless: [...APPLICATION_ROOTS, ...LOGIN_FIELDS],
    maxText: 600,
    statuses: GATE_STATUSES,
  },
  {
    id: 'login-wall',
    kind: 'wall',
    signs: [{ text: LOGIN_FIRST }, { body: PASSWORD_FIELDS }],
    unlessPath: LOGIN_PATHS,
    maxText: 600,
    statuses: [200, 203],
  },
  {
    id: 'consent-wall',
    kind: 'wall',
    signs: [
      { text: CONSENT_FIRST },
      {
        body: [
          'action="https://consent.',
          'action="/consent',
          'collectconsent',
          'name="consent',
          'id="consent-form',
          'guce.',
        ],
      },
    ],
    unlessPath: CONSENT_PATHS,
    maxText: 900,
    statuses: [200, 203],
  },
];
