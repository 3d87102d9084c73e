// Pages in the shape that protectors of sites serve them, with the texts, ids and scripts of different
// releases, languages and customers' designs. Ids and keys are made up.

/** A page to refuse or test a visitor, in as many shapes as are seen of it. */
export interface BlockShape {
  readonly maker: string;
  readonly kind: 'route' | 'rate';
  readonly headers?: readonly string[];
  readonly type?: string;
  readonly statuses: readonly number[];
  readonly pages: readonly string[];
}

const cloudflare = (title: string, words: string) =>
  `<!DOCTYPE html><html lang="x"><head><title>${title}</title><meta http-equiv="X-UA-Compatible" content="IE=Edge"><meta name="robots" content="noindex,nofollow"><style>*{box-sizing:border-box}.main-wrapper{align-items:center}</style><meta http-equiv="refresh" content="390"></head><body class="no-js"><div class="main-wrapper" role="main"><div class="main-content"><noscript><div id="challenge-error-title"><div class="h2"><span class="icon-wrapper"></span><span id="challenge-error-text">${words}</span></div></div></noscript></div></div><script>(function(){window._cf_chl_opt={cvId:'3',cZone:"shop.test",cType:'managed',cRay:'8f0a1b2c3d4e5f60',cUPMDTk:"/?__cf_chl_tk=abc"};var cpo=document.createElement('script');cpo.src='/cdn-cgi/challenge-platform/h/g/orchestrate/chl_page/v1?ray=8f0a1b2c3d4e5f60';document.getElementsByTagName('head')[0].appendChild(cpo)}());</script></body></html>`;

const cloudflareError = (code: number, title: string, what: string) =>
  `<!DOCTYPE html><!--[if lt IE 7]> <html class="no-js ie6 oldie" lang="en-US"> <![endif]--><head><title>${title} | shop.test used Cloudflare to restrict access</title></head><body><div id="cf-wrapper"><div id="cf-error-details" class="p-0"><header><h1><span class="inline-block">Error</span> <span>${code}</span></h1><span>Ray ID: 8f0a &bull; 2026-01-01 12:00 UTC</span><h2>${what}</h2></header><p>The owner of this website (shop.test) has banned your access.</p><div>Performance &amp; security by <a href="https://www.cloudflare.com/5xx-error-landing">Cloudflare</a></div></div></div></body></html>`;

const datadome = (words: string, blob: string) =>
  `<html lang="en"><head><title>shop.test</title><style>#cmsg{animation: A 1.5s;}@keyframes A{0%{opacity:0;}99%{opacity:0;}100%{opacity:1;}}</style></head><body style="margin:0"><p id="cmsg">${words}</p><script data-cfasync="false">var dd=${blob}</script><script data-cfasync="false" src="https://ct.captcha-delivery.com/c.js"></script></body></html>`;

const akamai = (title: string) =>
  `<HTML><HEAD>\n<TITLE>${title}</TITLE>\n</HEAD><BODY>\n<H1>${title}</H1>\n \nYou don't have permission to access "http&#58;&#47;&#47;www&#46;shop&#46;test&#47;p" on this server.<P>\nReference&#32;&#35;18&#46;2d351ab8&#46;1557333295&#46;a4e16ab\n<P>\nhttps&#58;&#47;&#47;errors&#46;edgesuite&#46;net&#47;18&#46;2d351ab8\n</BODY>\n</HTML>`;

const perimeter = (title: string, words: string) =>
  `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="description" content="px-captcha"><title>${title}</title></head><body><div class="container"><h1>${words}</h1><div id="px-captcha"></div><p>Reference ID <span>#1c2d</span></p></div><script>window._pxVid='';window._pxUuid='0a-1b';window._pxAppId='PXabc12345';window._pxHostUrl='/abc12345/xhr';window._pxJsClientSrc='/abc12345/init.js';</script><script src="/abc12345/captcha/captcha.js?a=c&u=0a-1b&v=&m=0"></script></body></html>`;

/** Shapes of the large protectors. */
export const PROTECTOR_SHAPES: readonly BlockShape[] = [
  {
    maker: 'cloudflare challenge',
    kind: 'route',
    headers: ['Server', 'cloudflare', 'CF-RAY', '8f0a-AMS'],
    statuses: [403, 503, 200, 429],
    pages: [
      cloudflare('Just a moment...', 'Enable JavaScript and cookies to continue'),
      cloudflare('Nur einen Moment…', 'Aktivieren Sie JavaScript und Cookies, um fortzufahren'),
      cloudflare('Un instant…', 'Activez JavaScript et les cookies pour continuer'),
      cloudflare('Um momento…', 'Ative o JavaScript e os cookies para continuar'),
      cloudflare(
        'しばらくお待ちください...',
        '続行するには、JavaScriptとCookieを有効にしてください',
      ),
      cloudflare('请稍候…', '启用 JavaScript 和 Cookie 以继续'),
      cloudflare('shop.test – einen Augenblick', 'Wir prüfen die Verbindung'),
      cloudflare('Chwileczkę…', 'Włącz JavaScript i pliki cookie, aby kontynuować'),
      '<!DOCTYPE HTML><html><head><title>Just a moment...</title><meta name="robots" content="noindex, nofollow"></head><body><table><tr><td align="center"><div class="cf-browser-verification cf-im-under-attack"><noscript><h1>Please turn JavaScript on and reload the page.</h1></noscript><h1><span data-translate="checking_browser">Checking your browser before accessing</span> shop.test.</h1><p data-translate="process_is_automatic">This process is automatic. Your browser will redirect to your requested content shortly.</p></div><form id="challenge-form" action="/?__cf_chl_jschl_tk__=1" method="POST"><input type="hidden" name="jschl_vc" value="1"></form></td></tr></table></body></html>',
    ],
  },
  {
    maker: 'cloudflare block',
    kind: 'route',
    headers: ['Server', 'cloudflare'],
    statuses: [403, 200],
    pages: [
      cloudflareError(1020, 'Access denied', 'Access denied'),
      cloudflareError(1009, 'Access denied', 'The owner has banned the country you are in'),
      cloudflareError(1006, 'Access denied', 'Your IP address has been banned'),
      'error code: 1010',
      'error code: 1020',
      '<!DOCTYPE html><html class="no-js"><head><title>Attention Required! | Cloudflare</title></head><body><div id="cf-wrapper"><div class="cf-alert cf-alert-error" id="cookie-alert">Please enable cookies.</div><div id="cf-error-details"><h1 data-translate="block_headline">Sorry, you have been blocked</h1><h2><span data-translate="unable_to_access">You are unable to access</span> shop.test</h2></div></div><p>Cloudflare Ray ID: <strong>8f0a</strong></p></body></html>',
    ],
  },
  {
    maker: 'cloudflare rate limit',
    kind: 'rate',
    headers: ['Server', 'cloudflare'],
    statuses: [429, 200],
    pages: [
      cloudflareError(1015, 'Access denied', 'You are being rate limited'),
      'error code: 1015',
    ],
  },
  {
    maker: 'aws waf',
    kind: 'route',
    statuses: [202, 405, 200],
    pages: [
      '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title></title><style>body{font-family:"Arial"}</style><script type="text/javascript">window.awsWafCookieDomainList = [];window.gokuProps = {"key":"AQIDAHjcYu","iv":"CgAHbjwx","context":"abc="};</script><script src="https://3c2b1a.edge.sdk.awswaf.com/3c2b/challenge.js"></script></head><body><div id="challenge-container"></div><script>AwsWafIntegration.saveReferrer();AwsWafIntegration.checkForceRefresh().then(f=>{})</script><noscript><h1>JavaScript is disabled</h1>In order to continue, we need to verify that you\'re not a robot. This requires JavaScript.</noscript></body></html>',
      '<!DOCTYPE html><html lang="de"><head><title>Human Verification</title><script>window.awsWafCookieDomainList=["shop.test"];window.gokuProps={"key":"AQI","iv":"Cg","context":"x"}</script><script src="https://a1.eu-west-1.captcha.awswaf.com/a1/captcha.js"></script></head><body><div id="captcha-container"></div><script>AwsWafCaptcha.renderCaptcha(document.getElementById("captcha-container"),{})</script></body></html>',
      '<html><head><script>window.awsWafCookieDomainList=[];window.gokuProps={};</script><script src="https://x.token.awswaf.com/y/challenge.js"></script></head></html>',
    ],
  },
  {
    maker: 'cloudfront',
    kind: 'route',
    headers: ['Server', 'CloudFront', 'X-Cache', 'Error from cloudfront'],
    statuses: [403],
    pages: [
      '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN"><HTML><HEAD><TITLE>ERROR: The request could not be satisfied</TITLE></HEAD><BODY><H1>403 ERROR</H1><H2>The request could not be satisfied.</H2><HR noshade size="1px">Request blocked. We can\'t connect to the server for this app or website at this time.<BR clear="all"><PRE>Generated by cloudfront (CloudFront) Request ID: abc==</PRE></BODY></HTML>',
      '<HTML><HEAD><TITLE>ERROR: The request could not be satisfied</TITLE></HEAD><BODY><H1>403 ERROR</H1>The Amazon CloudFront distribution is configured to block access from your country.<PRE>Generated by cloudfront (CloudFront)</PRE></BODY></HTML>',
    ],
  },
  {
    maker: 'akamai',
    kind: 'route',
    headers: ['Server', 'AkamaiGHost', 'Mime-Version', '1.0'],
    statuses: [403, 200],
    pages: [
      akamai('Access Denied'),
      akamai('Zugriff verweigert'),
      akamai('Accès refusé'),
      '<!DOCTYPE html><html><head><meta name="ROBOTS" content="NOINDEX"></head><body><div id="sec-if-cpt-container" role="main"></div><script src="/_sec/cp_challenge/sec-3-8.js" async></script><noscript><div id="sec-cpt-noscript">JavaScript</div></noscript><iframe id="sec-cpt-if" class="crypto" data-key="" data-duration=30 src="https://www.shop.test/_sec/cp_challenge/crypto_message-4-3.htm"></iframe></body></html>',
      '<html><head><meta http-equiv="refresh" content="5; URL=\'/?bm-verify=AAQAAAAJ_\'" /></head><body><script>var i=1766000000;var xhr=new XMLHttpRequest();xhr.open("POST","/_sec/verify?provider=interstitial",true);xhr.send(JSON.stringify({"bm-verify":"AAQ","pow":i}));</script></body></html>',
    ],
  },
  {
    maker: 'imperva',
    kind: 'route',
    statuses: [200, 403],
    pages: [
      '<html style="height:100%"><head><META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW"><meta name="format-detection" content="telephone=no"></head><body style="margin:0px;height:100%"><iframe id="main-iframe" src="/_Incapsula_Resource?SWUDNSAI=31&xinfo=9-1-0%200NNN&incident_id=41-1&edet=12&cinfo=0e&rpinfo=0" frameborder=0 width="100%" height="100%">Request unsuccessful. Incapsula incident ID: 41-1</iframe></body></html>',
      '<html><head><META NAME="robots" CONTENT="noindex,nofollow"><script src="/_Incapsula_Resource?SWJIYLWA=5074a744e2e3d891814e9a2dace20bd4,719d34d31c8e3a6e6fffd425f7e032f3"></script><body></body></html>',
      '<!DOCTYPE html><html lang="en"><head><noscript><title>Pardon Our Interruption</title></noscript><meta name="robots" content="noindex, nofollow"><title>Pardon Our Interruption</title><script>window.onProtectionInitialized=function(p){}</script><script src="/A-by-Chare-he-rath-Come-thou" async></script></head><body><div class="container"><h1>Pardon Our Interruption</h1><p>As you were browsing something about your browser made us think you were a bot. There are a few reasons this might happen:</p><ul><li>You\'re a power user moving through this website with super-human speed.</li><li>You\'ve disabled cookies in your web browser.</li></ul></div></body></html>',
      '<html><head><title>Pardon Our Interruption...</title><meta http-equiv="refresh" content="10; url=/distil_r_captcha.html?requestId=1"></head><body><div id="distilCaptchaForm"></div><p>Something about your browser made us think you might be a bot.</p></body></html>',
    ],
  },
  {
    maker: 'datadome',
    kind: 'route',
    headers: ['X-DataDome', 'protected', 'X-DD-B', '1'],
    statuses: [403, 200, 405],
    pages: [
      datadome(
        'Please enable JS and disable any ad blocker',
        "{'rt':'c','cid':'AHrl','hsh':'EC3A','t':'fe','s':43337,'e':'5e8c','host':'geo.captcha-delivery.com'}",
      ),
      datadome(
        'Veuillez activer JS et désactiver tout bloqueur de publicité',
        "{'rt':'i','cid':'AHrl','hsh':'EC3A','b':1,'s':17434,'host':'geo.captcha-delivery.com'}",
      ),
      '<html><head><title>shop.test</title></head><body><iframe src="https://geo.captcha-delivery.com/captcha/?initialCid=AHrl&hash=EC&cid=x&t=fe&referer=y" title="DataDome CAPTCHA" width="100%" height="100%"></iframe></body></html>',
    ],
  },
  {
    maker: 'datadome data',
    kind: 'route',
    type: 'application/json',
    statuses: [403, 200],
    pages: [
      '{"url":"https://geo.captcha-delivery.com/captcha/?initialCid=AHrlqAAAAAMA&cid=x&referer=https%3A%2F%2Fshop.test&hash=EC3A&t=fe&s=1"}',
    ],
  },
  {
    maker: 'perimeterx',
    kind: 'route',
    statuses: [403, 200, 429],
    pages: [
      perimeter('Access to this page has been denied', 'Press & Hold to confirm you are a human'),
      perimeter('Robot or human?', 'Robot or human?'),
      perimeter('Bitte bestätigen', 'Drücken und halten Sie die Taste'),
      perimeter('Un contrôle', 'Appuyez et maintenez'),
    ],
  },
  {
    maker: 'perimeterx data',
    kind: 'route',
    type: 'application/json',
    statuses: [403],
    pages: [
      '{"appId":"PXabc12345","jsClientSrc":"/abc12345/init.js","firstPartyEnabled":true,"vid":"","uuid":"0a","hostUrl":"/abc12345/xhr","blockScript":"/abc12345/captcha/captcha.js?a=c&u=0a&v=&m=0"}',
    ],
  },
  {
    maker: 'kasada',
    kind: 'route',
    headers: ['x-kpsdk-ct', '0C3oXyEj'],
    statuses: [429, 403],
    pages: [
      '<!DOCTYPE html><html><head></head><body><script>window.KPSDK={};KPSDK.now=typeof performance!=="undefined"&&performance.now?performance.now.bind(performance):Date.now.bind(Date);KPSDK.start=KPSDK.now();</script><script src="/149e9513-01fa-4fb0-aad4-566afd725d1b/2d206a39-8ed7-437e-a3be-862e0f06eea3/ips.js?x-kpsdk-im=AAIV"></script></body></html>',
      '<html><body><script src="/9f8e/1a2b/ips.js?tkrm_alpekz_s1.3=0Gq"></script></body></html>',
    ],
  },
];
