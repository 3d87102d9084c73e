import { prose, TONGUES, type Tongue } from './filling.ts';

/** A good page that has something of a block page about it. */
export interface NearMiss {
  readonly name: string;
  readonly html: string;
  readonly path?: string;
  readonly status?: number;
  readonly headers?: readonly string[];
}

const ENGLISH = TONGUES[0] as Tongue;
const page = (title: string, body: string) =>
  `<!DOCTYPE html><html><head><title>${title}</title></head><body>${body}</body></html>`;
const article = (title: string, words: string) =>
  page(title, `<h1>${title}</h1><p>${words}</p>${prose(ENGLISH, 2400, title.length)}`);
const CLOUDFLARE = ['Server', 'cloudflare', 'CF-RAY', '8f0a'];
const JSD = '<script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script>';
const RECAPTCHA =
  '<div class="g-recaptcha"></div><script src="https://www.google.com/recaptcha/api.js"></script>';
const TURNSTILE = '<script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script>';

export const NEAR_MISSES: readonly NearMiss[] = [
  {
    name: 'an article about Cloudflare’s challenge',
    html: article(
      'What "Just a moment..." means',
      'The page says "Enable JavaScript and cookies to continue"; its script sets _cf_chl_opt and loads /cdn-cgi/challenge-platform/h/b/orchestrate/chl_page.',
    ),
    headers: CLOUDFLARE,
  },
  {
    name: 'a tutorial on DataDome',
    html: article(
      'How DataDome works',
      "The page holds var dd={'rt':'c'} and loads https://ct.captcha-delivery.com/c.js: please enable JS and disable any ad blocker.",
    ),
  },
  {
    name: 'an article on captchas with a captcha in its comment form',
    html: article('Are you a robot?', `Prove that you are human. ${RECAPTCHA}`),
  },
  {
    name: 'a short song page behind Cloudflare',
    html: page('Just a moment - lyrics', `<h1>Just a moment</h1><p>La la la.</p>${JSD}`),
    headers: CLOUDFLARE,
  },
  {
    name: 'a short film page behind Cloudflare',
    html: page('Un momento', `<h1>Un momento</h1><p>Comedia, 2019.</p>${JSD}`),
    headers: CLOUDFLARE,
  },
  {
    name: 'a glossary entry on access control',
    html: page(
      'Access denied',
      '<h1>Access denied</h1><p>What a file system answers to a reader without rights.</p>',
    ),
  },
  {
    name: 'a product called Access Denied under Akamai',
    html: page(
      'Access Denied T-shirt',
      '<h1>Access Denied T-shirt</h1><p>Cotton, black, 19.99</p>',
    ),
    headers: ['Server', 'AkamaiNetStorage'],
  },
  {
    name: 'a question on unusual traffic, with its answer',
    html: page(
      'Why do I see unusual traffic warnings?',
      `<h1>Why do I see unusual traffic warnings?</h1>${prose(ENGLISH, 700, 3)}<p>Your IP address may be shared.</p>`,
    ),
  },
  {
    name: 'a comment form with a captcha',
    html: page(
      'Leave a comment',
      `<form><textarea name="comment"></textarea><p>Please show that you are not a robot</p>${RECAPTCHA}</form>`,
    ),
  },
  {
    name: 'a sign-up form with Turnstile',
    html: page(
      'Join',
      `<form><input name="email"><input type="password"><p>Verify you are human</p><div class="cf-turnstile"></div></form>${TURNSTILE}`,
    ),
    path: '/join',
  },
  {
    name: 'a contact form with Turnstile',
    html: page(
      'Write to us',
      `<form><input name="phone" type="tel"><textarea name="message"></textarea><p>Security check</p><div class="cf-turnstile"></div></form>${TURNSTILE}`,
    ),
    path: '/contact',
  },
  {
    name: 'a demo of a captcha',
    html: page(
      'Demo',
      `<h1>reCAPTCHA demo</h1><form><input name="name" value="Jane"><textarea name="message">Hi</textarea>${RECAPTCHA}<p>I'm not a robot</p></form>`,
    ),
    path: '/demo',
  },
  {
    name: 'a login page that was asked for',
    html: page('Sign in', '<h2>Sign in to continue</h2><form><input type="password"></form>'),
    path: '/users/sign_in?next=%2Fitems',
  },
  {
    name: 'an account page that was asked for',
    html: page(
      'Account',
      '<p>You must be logged in to see your account.</p><input type="password">',
    ),
    path: '/account/orders',
  },
  {
    name: 'a start page with a login form',
    html: page('Intranet', '<p>Log in to continue</p><input type="password">'),
    path: '/',
  },
  {
    name: 'an article with a login form in its head',
    html: page(
      'Report',
      `<form><input type="password"></form>${prose(ENGLISH, 900, 5)}<p>Log in to comment.</p>`,
    ),
  },
  {
    name: 'the settings of cookies',
    html: page(
      'Cookies',
      '<h1>Before you continue</h1><form action="/consent/save"><input type="checkbox"></form>',
    ),
    path: '/privacy/consent',
  },
  {
    name: 'a checkout step',
    html: page(
      'Checkout',
      '<h1>Before you continue</h1><p>Check your address.</p><form action="/pay"></form>',
    ),
    path: '/checkout',
  },
  {
    name: 'a gateway error of Cloudflare',
    html: '<title>shop.test | 502: Bad gateway</title><div id="cf-error-details"><h1>Bad gateway <span>Error code 502</span></h1></div><p>Cloudflare Ray ID: 8f</p>',
    status: 502,
    headers: CLOUDFLARE,
  },
  {
    name: 'a DNS error of Cloudflare',
    html: '<title>Origin DNS error | shop.test | Cloudflare</title><div id="cf-error-details"><h1>Error 1016</h1></div><p>Cloudflare Ray ID: 8f</p>',
    status: 530,
    headers: CLOUDFLARE,
  },
  {
    name: 'an error of Akamai',
    html: '<HTML><HEAD><TITLE>Error</TITLE></HEAD><BODY>An error occurred while processing your request.<p>Reference&#32;&#35;97.1</BODY></HTML>',
    status: 503,
    headers: ['Server', 'AkamaiGHost'],
  },
  {
    name: 'a gateway error of CloudFront',
    html: '<HTML><HEAD><TITLE>ERROR: The request could not be satisfied</TITLE></HEAD><BODY><H1>504 ERROR</H1>CloudFront attempted to establish a connection with the origin.<PRE>Generated by cloudfront (CloudFront)</PRE></BODY></HTML>',
    status: 504,
    headers: ['Server', 'CloudFront'],
  },
  {
    name: 'a page that is not there',
    html: page(
      '404',
      '<h1>Not found</h1><p>If you think this is wrong, contact the administrator.</p>',
    ),
    status: 404,
  },
  {
    name: 'works on the site',
    html: page('Back soon', '<h1>Maintenance</h1><p>We are back at noon.</p>'),
    status: 503,
  },
  {
    name: 'a shop with Imperva’s script',
    html: page(
      'Pots',
      `<p>${ENGLISH.words}</p><script src="/_Incapsula_Resource?SWJIYLWA=719d34d31c8e3a6e6fffd425f7e032f3&ns=2"></script>`,
    ),
  },
  {
    name: 'a page kept out of search engines, with Imperva’s script',
    html: `<head><meta name="robots" content="noindex, nofollow"><title>Basket</title></head><p>${ENGLISH.words}</p><script src="/_Incapsula_Resource?SWJIYLWA=1"></script>`,
  },
  {
    name: 'a shop with the token script of AWS WAF',
    html: page(
      'Pots',
      `<script src="https://a.token.awswaf.com/b/challenge.js" defer></script><p>${ENGLISH.words}</p>`,
    ),
  },
  {
    name: 'a shop with Kasada’s script',
    html: page('Shoes', `<script src="/149e/2d20/p.js"></script><p>${ENGLISH.words}</p>`),
    headers: ['x-kpsdk-v', '1'],
  },
  {
    name: 'a shop that DataDome watches',
    html: page(
      'Pots',
      `<script>window.ddjskey="1"</script><script src="https://js.datadome.co/tags.js"></script><p>${ENGLISH.words}</p>`,
    ),
    headers: ['X-DataDome', 'protected'],
  },
  {
    name: 'a calculator that needs scripts',
    html: page(
      'Calculator',
      '<noscript>Please enable JavaScript to use the calculator.</noscript><div id="calc"></div>',
    ),
  },
  {
    name: 'a status page',
    html: page('Status', '<h1>All systems fine</h1><p>Rate limit incidents this week: 0</p>'),
  },
  {
    name: 'a list of limits',
    html: page(
      'Limits',
      '<h1>API limits</h1><table><tr><td>HTTP 429</td><td>Too many requests were sent; wait and try again.</td></tr><tr><td>HTTP 403</td><td>The key is not allowed to do this.</td></tr></table>',
    ),
    path: '/docs/limits',
  },
  {
    name: 'a support page with a support id',
    html: page('Support', '<h1>How can we help?</h1><p>Your support ID is on your invoice.</p>'),
  },
  {
    name: 'a robot shop',
    html: page(
      'Robots',
      '<h1>A robot for the garden</h1><p>Not a robot vacuum: this one mows.</p>',
    ),
  },
  {
    name: 'a quiz on humans',
    html: page(
      'Quiz',
      '<h1>Are you human?</h1><p>Ten questions to find out.</p><button>Start</button>',
    ),
  },
  {
    name: 'a password generator',
    html: page(
      'Passwords',
      '<h1>Security check of your password</h1><input id="pw" type="text"><script src="/zxcvbn.js"></script>',
    ),
  },
  {
    name: 'a page with a login link for more',
    html: page(
      'Forum',
      '<h1>Thread</h1><p>Hello all.</p><p><a href="/login">Log in to reply</a></p>',
    ),
  },
  {
    name: 'a newsletter box with a captcha',
    html: page(
      'Blog',
      `<p>Short post.</p><form><input type="email"><p>Are you a robot?</p>${RECAPTCHA}</form>`,
    ),
  },
];
