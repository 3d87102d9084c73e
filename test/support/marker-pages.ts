/** A made-up page in the shape of a known challenge, block or throttle page. */
export interface MarkerPage {
  readonly id: string;
  readonly status: number;
  readonly rawHeaders?: readonly string[];
  readonly html: string;
  /** Parts of the page or of its fields without any one of which it is no such page. */
  readonly needs: readonly string[];
}

const JSON_TYPE: readonly string[] = ['Content-Type', 'application/json'];

/** At least one for every row of the tables. */
export const MARKER_PAGES: readonly MarkerPage[] = [
  {
    id: 'cloudflare-challenge',
    status: 200,
    html: '<title>Just a moment...</title><script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script>',
    needs: ['Just a moment', '/orchestrate/'],
  },
  {
    id: 'cloudflare-challenge',
    status: 503,
    html: '<noscript>Enable JavaScript and cookies to continue</noscript><script>window._cf_chl_opt={}</script>',
    needs: ['Enable JavaScript and cookies', '_cf_chl_opt'],
  },
  {
    id: 'cloudflare-rate-limit',
    status: 200,
    rawHeaders: ['Server', 'cloudflare'],
    html: 'error code: 1015',
    needs: ['1015', 'cloudflare'],
  },
  {
    id: 'cloudflare-rate-limit',
    status: 429,
    html: '<h1>Error <b>1015</b></h1>You are being rate limited <p>Cloudflare Ray ID: 0</p>',
    needs: ['Cloudflare Ray ID'],
  },
  {
    id: 'cloudflare-block',
    status: 403,
    rawHeaders: ['Server', 'cloudflare'],
    html: 'error code: 1020',
    needs: ['1020', 'cloudflare'],
  },
  {
    id: 'cloudflare-block',
    status: 200,
    html: '<div id="cf-error-details"><h1>Sorry, you have been blocked</h1></div>',
    needs: ['cf-error-details', 'Sorry, you have been blocked'],
  },
  {
    id: 'aws-waf-challenge',
    status: 202,
    html: '<script>window.gokuProps = {"key":"x"}</script><div id="challenge-container"></div>',
    needs: ['window.gokuProps', 'id="challenge-container"'],
  },
  {
    id: 'akamai-challenge',
    status: 200,
    html: '<div id="sec-if-cpt-container"></div><iframe src="/_sec/cp_challenge/crypto.html"></iframe>',
    needs: ['sec-if-cpt-container', '/_sec/cp_challenge/'],
  },
  {
    id: 'akamai-block',
    status: 403,
    html: "<title>Denied</title>You don't have permission to access this. Reference&#32;&#35;18.0",
    needs: ["You don't have permission", 'Reference&#32;&#35;'],
  },
  {
    id: 'akamai-block',
    status: 200,
    rawHeaders: ['Server', 'AkamaiGHost'],
    html: '<title>Access Denied</title><h1>No</h1>',
    needs: ['AkamaiGHost', 'Access Denied'],
  },
  {
    id: 'imperva-block',
    status: 200,
    html: '<iframe src="/_Incapsula_Resource?CWUDNSAI=9&incident_id=1-2"></iframe>',
    needs: ['_Incapsula_Resource', 'incident_id'],
  },
  {
    id: 'datadome-block',
    status: 403,
    rawHeaders: ['X-DataDome', 'protected', 'X-DD-B', '1'],
    html: '<p>Please wait</p>',
    needs: ['X-DataDome', 'X-DD-B'],
  },
  {
    id: 'datadome-challenge',
    status: 200,
    html: "<script>var dd={'rt':'c'}</script><script src=\"https://ct.captcha-delivery.com/c.js\"></script>",
    needs: ['dd={', 'captcha-delivery.com'],
  },
  {
    id: 'datadome-challenge',
    status: 200,
    rawHeaders: JSON_TYPE,
    html: '{"url":"https://geo.captcha-delivery.com/captcha/?initialCid=A"}',
    needs: ['initialCid=', 'captcha-delivery.com'],
  },
  {
    id: 'perimeterx-challenge',
    status: 403,
    html: '<div id="px-captcha"></div><script>window._pxAppId = \'PX1\'</script>',
    needs: ['px-captcha', '_pxAppId'],
  },
  {
    id: 'perimeterx-challenge',
    status: 200,
    rawHeaders: JSON_TYPE,
    html: '{"appId":"PX1","blockScript":"/1/captcha.js"}',
    needs: ['"appId":"PX', '"blockScript"'],
  },
  {
    id: 'kasada-challenge',
    status: 429,
    html: '<script>window.KPSDK={}</script><script src="/149e/2d20/ips.js?x=1"></script>',
    needs: ['window.KPSDK', '/ips.js?'],
  },
  {
    id: 'sucuri-block',
    status: 403,
    html: '<title>Sucuri WebSite Firewall - Access Denied</title>',
    needs: ['Sucuri WebSite Firewall', 'Access Denied'],
  },
  {
    id: 'sucuri-challenge',
    status: 200,
    html: '<title>You are being redirected...</title><script>sucuri_cloudproxy_js=""</script>',
    needs: ['You are being redirected', 'sucuri_cloudproxy_js'],
  },
  {
    id: 'f5-block',
    status: 200,
    html: 'The requested URL was rejected. Please consult with your administrator.<br>Your support ID is: 1',
    needs: ['The requested URL was rejected'],
  },
  {
    id: 'f5-challenge',
    status: 200,
    html: '<script>window["bobcmn"] = "101"</script><script src="/TSPD/08ab?type=9"></script>',
    needs: ['window["bobcmn"]', '/TSPD/'],
  },
  {
    id: 'google-sorry',
    status: 429,
    html: '<form id="captcha-form"></form>Our systems have detected unusual traffic from your computer network.',
    needs: ['id="captcha-form"', 'detected unusual traffic from your computer network'],
  },
  {
    id: 'amazon-robot-check',
    status: 200,
    html: '<form action="/errors/validateCaptcha"><h4>Type the characters you see in this image</h4></form>',
    needs: ['/errors/validateCaptcha', 'Type the characters'],
  },
  {
    id: 'yandex-captcha',
    status: 200,
    html: '<title>Are you not a robot?</title><form action="/checkcaptcha?x=/showcaptcha"></form>',
    needs: ['/showcaptcha', 'not a robot'],
  },
  {
    id: 'ddos-guard-challenge',
    status: 403,
    rawHeaders: ['Server', 'ddos-guard'],
    html: '<title>DDoS-Guard</title>',
    needs: ['DDoS-Guard'],
  },
  {
    id: 'anubis-challenge',
    status: 200,
    html: '<title>Making sure you&#39;re not a bot!</title><script id="anubis_challenge">{}</script>',
    needs: ['Making sure you&#39;re not a bot', 'id="anubis_challenge"'],
  },
  {
    id: 'wordfence-block',
    status: 503,
    html: 'Your access to this site has been limited. Generated by Wordfence.',
    needs: ['Generated by Wordfence'],
  },
  {
    id: 'browser-check',
    status: 503,
    html: '<h1>Checking your browser before accessing shop.test</h1>DDoS protection is on',
    needs: ['Checking your browser before', 'DDoS protection'],
  },
  {
    id: 'captcha-gate',
    status: 200,
    html: '<title>One more step</title>Please verify you are human<div class="h-captcha"></div>',
    needs: ['you are human', 'h-captcha'],
  },
  {
    id: 'captcha-gate',
    status: 403,
    html: '<div class="cf-turnstile"></div>Complete the security check to go on',
    needs: ['cf-turnstile', 'security check'],
  },
  {
    id: 'javascript-wall',
    status: 200,
    html: '<title>Access</title>Please enable JavaScript so that we see you are not a bot',
    needs: ['enable JavaScript', 'not a bot'],
  },
  {
    id: 'cloudflare-managed-challenge',
    status: 403,
    html: '<title>shop.test</title><script>window._cf_chl_opt={cType:"managed"};a.src="/cdn-cgi/challenge-platform/h/g/orchestrate/x"</script>',
    needs: ['_cf_chl_opt', '/cdn-cgi/challenge-platform/h/'],
  },
  {
    id: 'cloudfront-block',
    status: 403,
    html: '<title>ERROR: The request could not be satisfied</title>Request blocked. Generated by cloudfront (CloudFront)',
    needs: ['Request blocked', 'Generated by cloudfront'],
  },
  {
    id: 'azure-block',
    status: 403,
    rawHeaders: ['X-Azure-Ref', '0abc'],
    html: '<h2>The request is blocked.</h2>',
    needs: ['X-Azure-Ref', 'The request is blocked'],
  },
  {
    id: 'vercel-checkpoint',
    status: 403,
    html: '<title>Vercel Security Checkpoint</title><p>We are verifying your browser</p>',
    needs: ['Vercel Security Checkpoint', 'verifying your browser'],
  },
  {
    id: 'imperva-challenge',
    status: 200,
    html: '<META NAME="robots" CONTENT="noindex,nofollow"><script src="/_Incapsula_Resource?SWJIYLWA=5"></script>',
    needs: ['/_Incapsula_Resource?', 'noindex,nofollow'],
  },
  {
    id: 'imperva-interruption',
    status: 200,
    html: '<title>Pardon Our Interruption</title><script>window.onProtectionInitialized=f</script>',
    needs: ['Pardon Our Interruption', 'onProtectionInitialized'],
  },
  {
    id: 'radware-challenge',
    status: 200,
    html: '<title>Captcha Page</title><script src="https://cdn.perfdrive.com/a.js"></script>',
    needs: ['perfdrive.com', 'Captcha Page'],
  },
  {
    id: 'fortiweb-block',
    status: 200,
    html: '<h1>Web Page Blocked!</h1>Attack ID: 20000051',
    needs: ['Web Page Blocked', 'Attack ID'],
  },
  {
    id: 'google-script-check',
    status: 200,
    html: '<noscript><a href="/httpservice/retry/enablejs?x=1">here</a> if you are not redirected</noscript>',
    needs: ['/httpservice/retry/enablejs', 'if you are not redirected'],
  },
  {
    id: 'google-consent',
    status: 200,
    html: '<h1>Before you continue</h1><form action="https://consent.google.de/save"></form>',
    needs: ['Before you continue', 'consent.google.'],
  },
  {
    id: 'traffic-wall',
    status: 200,
    html: '<h1>Sorry</h1>There is unusual traffic from your IP address.',
    needs: ['unusual traffic', 'IP address'],
  },
  {
    id: 'login-wall',
    status: 200,
    html: '<h1>Members only</h1>Log in to continue<form><input type="password"></form>',
    needs: ['Log in to continue', 'type="password"'],
  },
  {
    id: 'consent-wall',
    status: 200,
    html: '<h1>Before you continue</h1><form action="/consent/save"></form>',
    needs: ['Before you continue', 'action="/consent'],
  },
  {
    id: 'modsecurity-block',
    status: 406,
    html: '<h1>Not Acceptable!</h1>This error was generated by Mod_Security.',
    needs: ['Not Acceptable', 'generated by Mod_Security'],
  },
];
