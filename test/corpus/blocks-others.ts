import type { BlockShape } from './blocks-protectors.ts';

const sucuri = (words: string) =>
  `<!DOCTYPE html><html><head><title>Sucuri WebSite Firewall - Access Denied</title></head><body><div id="main-container"><h1 class="app-header__title">Access Denied - Sucuri Website Firewall</h1><p>${words}</p><table><tr><td>Your IP:</td><td>198.51.100.7</td></tr><tr><td>Block ID:</td><td>GEO02</td></tr><tr><td>Block reason:</td><td>Access from your Country was disabled.</td></tr></table></div></body></html>`;

const f5 = (title: string, words: string, support: string) =>
  `<html><head><title>${title}</title></head><body>${words}<br><br>${support}: 7561893512365479654<br><br><a href='javascript:history.back();'>[Go Back]</a></body></html>`;

const sorry = (words: string, more: string) =>
  `<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN"><html><head><meta http-equiv="content-type" content="text/html; charset=utf-8"><title>https://www.search.test/search?q=x</title></head><body onload="e=document.getElementById('captcha');if(e){e.focus();}"><div style="max-width:400px;"><hr noshade size="1"><form id="captcha-form" action="index" method="post"><div id="recaptcha" class="g-recaptcha" data-sitekey="6Lf"></div><input type='hidden' name='q' value='EhAg'><input type="hidden" name="continue" value="https://www.search.test/search?q=x"></form><hr noshade size="1"><b>${words}</b><br><br>${more}<br>IP address: 198.51.100.7<br>Time: 2026-01-01T12:00:00Z<br>URL: https://www.search.test/search?q=x<br></div></body></html>`;

const amazon = (words: string, button: string) =>
  `<!DOCTYPE html><!--[if lt IE 7]> <html class="a-no-js a-lt-ie7"> <![endif]--><head><title dir="ltr">Amazon.test</title><link rel="stylesheet" href="https://images-na.ssl-images-amazon.com/images/G/01/AUIClients/x.css"></head><body><div class="a-container a-padding-double-large"><div class="a-box"><h4>${words}</h4></div><form method="get" action="/errors/validateCaptcha" name=""><input type=hidden name="amzn" value="x=="/><div class="a-row a-text-center"><img src="https://images-na.ssl-images-amazon.com/captcha/abc/Captcha_x.jpg"></div><input autocomplete="off" id="captchacharacters" name="field-keywords" type="text"><button type="submit">${button}</button></form></div></body></html>`;

const gate = (title: string, words: string, widget: string) =>
  `<!DOCTYPE html><html><head><title>${title}</title><meta name="viewport" content="width=device-width"></head><body><main><h1>${title}</h1><p>${words}</p><form method="POST">${widget}<button>OK</button></form></main></body></html>`;

const RECAPTCHA =
  '<div class="g-recaptcha" data-sitekey="6LcX"></div><script src="https://www.google.com/recaptcha/api.js" async defer></script>';
const HCAPTCHA =
  '<div class="h-captcha" data-sitekey="10000000-ffff"></div><script src="https://js.hcaptcha.com/1/api.js" async></script>';
const TURNSTILE =
  '<div class="cf-turnstile" data-sitekey="0x4AAA"></div><script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script>';
const GEETEST =
  '<div id="captcha"></div><script src="https://static.geetest.com/static/tools/gt.js"></script>';

const login = (title: string, words: string) =>
  `<!DOCTYPE html><html><head><title>${title}</title></head><body><div class="authwall"><h2>${words}</h2><form action="/uas/login-submit" method="post"><input name="session_key" type="text"><input name="session_password" type="password"><button>${title}</button></form></div></body></html>`;

const consent = (title: string, words: string) =>
  `<!doctype html><html><head><title>${title}</title></head><body><h1>${title}</h1><div>${words}</div><form action="https://consent.video.test/save" method="POST"><input type="hidden" name="set_eom" value="true"><button>1</button></form><form action="https://consent.video.test/save" method="POST"><button>2</button></form></body></html>`;

/** Shapes of firewalls, of sites of their own, and of walls of nobody in particular. */
export const OTHER_SHAPES: readonly BlockShape[] = [
  {
    maker: 'sucuri',
    kind: 'route',
    headers: ['Server', 'Sucuri/Cloudproxy'],
    statuses: [403, 200],
    pages: [
      sucuri('If you are the site owner, please open a ticket in our support page.'),
      "<html><title>You are being redirected...</title>\n<noscript>Javascript is required. Please enable javascript before you are allowed to see this page.</noscript>\n<script>var s={},u,c,U,r,i,l=0,a,e=eval,w=String.fromCharCode,sucuri_cloudproxy_js='',S='aT0i';</script></html>",
    ],
  },
  {
    maker: 'f5',
    kind: 'route',
    statuses: [200, 403],
    pages: [
      f5(
        'Request Rejected',
        'The requested URL was rejected. Please consult with your administrator.',
        'Your support ID is',
      ),
      f5(
        'Anfrage abgelehnt',
        'Die angeforderte URL wurde abgelehnt. Bitte wenden Sie sich an den Administrator.',
        'Ihre Support-ID lautet',
      ),
      f5(
        'Solicitud rechazada',
        'La URL solicitada fue rechazada. Consulte con su administrador.',
        'Su ID de soporte es',
      ),
      f5('Bank', 'The requested URL was rejected. Call us on 0800 1234.', 'Support ID'),
      '<!DOCTYPE html><html><head><meta http-equiv="Pragma" content="no-cache"/><script type="text/javascript">(function(){window["bobcmn"] = "10111111101010200000005200000002";window["failureConfig"]="x";})();</script><script type="text/javascript" src="/TSPD/08abb123ab2000?type=9"></script><noscript>Please enable JavaScript to view the page content.<br/>Your support ID is: 123.</noscript></head><body></body></html>',
    ],
  },
  {
    maker: 'radware',
    kind: 'route',
    statuses: [200],
    pages: [
      '<html><head><title>Radware Bot Manager Captcha</title></head><body><h1>We apologize for the inconvenience...</h1><p>...but your activity and behavior on this site made us think that you are a bot.</p><form action="https://validate.perfdrive.com/abc/captcha"></form><p>Please solve this CAPTCHA to request unblock to the website</p><p>You reached this page when trying to access https://shop.test</p></body></html>',
    ],
  },
  {
    maker: 'firewalls',
    kind: 'route',
    statuses: [403, 200],
    pages: [
      '<html><head><title>Web Page Blocked!</title></head><body><h2>Web Page Blocked!</h2><p>The page cannot be displayed. Please contact the administrator for additional information.</p><p>URL: shop.test/p</p><p>Attack ID: 20000008</p><p>Message ID: 000012</p></body></html>',
      '<html><head><title>Not Acceptable!</title></head><body><h1>Not Acceptable!</h1><p>An appropriate representation of the requested resource could not be found on this server. This error was generated by Mod_Security.</p></body></html>',
      '<!DOCTYPE html><html><head><title>Access Denied</title></head><body><h1>This site has been temporarily limited</h1><p>Your access to this service has been limited. (HTTP response code 503)</p><p>Block Technical Data</p><p>Generated by Wordfence at Thu, 1 Jan 2026 12:00:00 GMT.</p></body></html>',
    ],
  },
  {
    maker: 'azure',
    kind: 'route',
    headers: ['x-azure-ref', '20260101T120000Z-abc'],
    statuses: [403],
    pages: [
      "<!DOCTYPE html><html><head><meta content='text/html; charset=utf-8' http-equiv='content-type'/><style type='text/css'>body {font-family:Arial; margin-left:40px;}</style><title></title></head><body><div id='content'><div id='message'><h2>The request is blocked.</h2></div><div id='info'><h3>0abc</h3></div></div></body></html>",
    ],
  },
  {
    maker: 'vercel',
    kind: 'route',
    headers: ['Server', 'Vercel'],
    statuses: [403, 429],
    pages: [
      '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Vercel Security Checkpoint</title></head><body><div id="root-container"><p id="header-text">We\'re verifying your browser</p><p id="footer-text">Vercel Security Checkpoint | fra1::1766-abc</p></div><script type="module" src="/.well-known/vercel/security/static/challenge.v2.min.js"></script></body></html>',
    ],
  },
  {
    maker: 'google',
    kind: 'route',
    statuses: [429, 200, 503],
    pages: [
      sorry(
        'About this page',
        "Our systems have detected unusual traffic from your computer network. This page checks to see if it's really you sending the requests, and not a robot.",
      ),
      sorry(
        'Über diese Seite',
        'Unsere Systeme haben ungewöhnlichen Datenverkehr aus Ihrem Computernetzwerk festgestellt.',
      ),
      sorry(
        'À propos de cette page',
        'Nos systèmes ont détecté un trafic exceptionnel sur votre réseau informatique.',
      ),
      sorry('Acerca de esta página', 'Detectamos tráfico inusual procedente de tu red.'),
      sorry(
        'このページについて',
        'お使いのコンピュータ ネットワークから通常と異なるトラフィックが検出されました。',
      ),
      '<!doctype html><html lang="de"><head><title>Google Suche</title></head><body><noscript><style>table,div,span,p{display:none}</style><meta content="0;url=/httpservice/retry/enablejs?sei=abc" http-equiv="refresh"><div style="display:block">Please click <a href="/httpservice/retry/enablejs?sei=abc">here</a> if you are not redirected within a few seconds.</div></noscript><script nonce="x">(function(){var a="x"})();</script></body></html>',
    ],
  },
  {
    maker: 'amazon',
    kind: 'route',
    statuses: [200, 503],
    pages: [
      amazon('Enter the characters you see below', 'Continue shopping'),
      amazon('Geben Sie die angezeigten Zeichen in das Feld ein', 'Weiter shoppen'),
      amazon('Saisissez les caractères que vous voyez', 'Continuer les achats'),
      amazon('下に表示されている文字を入力してください', '買い物を続ける'),
      '<html><head><title>503 - Service Unavailable Error</title></head><body><!-- To discuss automated access to data please contact api-services-support@amazon.test. For information about migrating to our APIs refer to our Marketplace APIs --><center><a href="/"><img src="https://images-na.ssl-images-amazon.com/images/G/01/error/logo.png"></a><h1>Sorry! Something went wrong on our end.</h1></center></body></html>',
      '<!DOCTYPE html><html><head><title>Amazon.test</title></head><body><form method="get" action="/errors/validateCaptcha"><h4>Click the button below to continue shopping</h4><input type="hidden" name="amzn" value="x"><input type=hidden name="field-keywords" value="A"><button>Continue shopping</button></form></body></html>',
    ],
  },
  {
    maker: 'sites of their own',
    kind: 'route',
    statuses: [200, 403],
    pages: [
      '<html><head><title>Вы не робот?</title></head><body><form action="/checkcaptcha?key=1&retpath=https://ya.test/search" method="POST"><h1>Подтвердите, что запросы отправляли вы, а не робот</h1><a href="/showcaptcha?retpath=x">Нам очень жаль, но запросы с вашего устройства похожи на автоматические</a></form></body></html>',
      '<html><head><title>Making sure you&#39;re not a bot!</title><script id="anubis_version" type="application/json">"1.2"</script><script id="anubis_challenge" type="application/json">{"rules":{"difficulty":4}}</script></head><body><h1>Making sure you&#39;re not a bot!</h1><img src="/.within.website/x/cmd/anubis/static/img/pensive.webp"></body></html>',
      '<!DOCTYPE html><html><head><title>DDoS-Guard</title></head><body data-ddg-origin="true"><h1>Checking your browser before accessing shop.test</h1><script src="https://check.ddos-guard.net/check.js"></script></body></html>',
    ],
  },
  {
    maker: 'captcha gates',
    kind: 'route',
    statuses: [200, 403, 429],
    pages: [
      gate('Are you a robot?', 'We need to make sure. Please tick the box.', RECAPTCHA),
      gate(
        'Bloom News - Are you a robot?',
        'To continue, please click the box below to let us know you’re not a robot.',
        RECAPTCHA,
      ),
      gate('Security check', 'Please prove it is you', HCAPTCHA),
      gate('Sicherheitsabfrage', 'Bitte bestätigen Sie, dass Sie ein Mensch sind.', HCAPTCHA),
      gate('Vérification', 'Merci de confirmer que vous n’êtes pas un robot.', RECAPTCHA),
      gate('Comprobación', 'Confirme que no es un robot para seguir.', RECAPTCHA),
      gate('Verificação', 'Confirme que você não é um robô.', TURNSTILE),
      gate('ちょっと待って', 'ロボットではないことを確認してください。', RECAPTCHA),
      gate('安全验证', '请完成验证，证明您不是机器人。', GEETEST),
      gate('Проверка', 'Подтвердите, что вы не робот, чтобы продолжить.', HCAPTCHA),
      gate(
        'One more step',
        'We noticed unusual activity from your device. Complete the puzzle.',
        TURNSTILE,
      ),
      gate('Controle', 'Bevestig dat u geen robot bent.', RECAPTCHA),
      gate(
        'Hold on',
        'Your browsing speed looks automated. Prove that you are human to go on.',
        TURNSTILE,
      ),
    ],
  },
  {
    maker: 'traffic walls',
    kind: 'route',
    statuses: [200, 403, 503],
    pages: [
      '<html><head><title>Sorry</title></head><body><h1>Sorry...</h1><p>We have detected unusual traffic from your IP address 198.51.100.7. Access is suspended for one hour.</p></body></html>',
      '<html><body><h2>Zugriff gesperrt</h2>Von Ihrer IP-Adresse kamen automatisierte Anfragen. Bitte versuchen Sie es später noch einmal.</body></html>',
      '<html><body><h2>访问受限</h2><p>您的IP地址 198.51.100.7 存在异常访问，请稍后再试。</p></body></html>',
      '<html><body><p>お使いのIPアドレスから不審なアクセスが検出されたため、接続を制限しています。</p></body></html>',
      '<html><body><h1>Accès suspendu</h1><p>Une activité inhabituelle provient de votre adresse IP.</p></body></html>',
    ],
  },
  {
    maker: 'script walls',
    kind: 'route',
    statuses: [200, 403],
    pages: [
      '<html><head><title>shop.test</title></head><body><noscript>Please enable JavaScript to pass the security check.</noscript><script src="/guard/fp.js"></script></body></html>',
      '<html><head><title>Access to this page has been denied</title></head><body><p>Please enable JavaScript and cookies. Access to this page has been denied because we believe you are using automation tools.</p></body></html>',
      '<html><head><meta http-equiv="refresh" content="5"></head><body><h1>Checking your browser before you see the page</h1><p>DDoS protection by Guard. Allow up to 5 seconds.</p></body></html>',
      '<html><head><title>Проверка браузера</title><meta http-equiv="refresh" content="3"></head><body>Проверка браузера, подождите</body></html>',
      '<html><body><noscript>Bitte aktivieren Sie JavaScript. Damit prüfen wir, dass Sie kein Bot sind.</noscript><script src="/c.js"></script></body></html>',
    ],
  },
  {
    maker: 'login walls',
    kind: 'route',
    statuses: [200],
    pages: [
      login('Sign in', 'Sign in to view more jobs'),
      login('Log in', 'You must log in to continue.'),
      login('Anmelden', 'Melden Sie sich an, um fortzufahren'),
      login('Connexion', 'Connectez-vous pour voir la suite'),
      login('Iniciar sesión', 'Inicia sesión para continuar'),
      login('登录', '请先登录再查看更多内容'),
    ],
  },
  {
    maker: 'consent walls',
    kind: 'route',
    statuses: [200],
    pages: [
      consent('Before you continue to VideoTube', 'We use cookies and data to deliver services.'),
      consent('Bevor Sie zu VideoTube weitergehen', 'Wir verwenden Cookies und Daten.'),
      consent('Avant d’accéder à VideoTube', 'Nous utilisons des cookies et des données.'),
      consent('Antes de continuar', 'Usamos cookies y datos.'),
      consent('VideoTube に進む前に', 'クッキーとデータを使います。'),
    ],
  },
  {
    maker: 'throttles behind 200',
    kind: 'rate',
    statuses: [200],
    pages: [
      '<html><head><title>Too Many Requests</title></head><body><h1>Slow down</h1></body></html>',
      '<h1>Zu viele Anfragen</h1><p>Bitte warten Sie eine Minute.</p>',
      '<h1>Trop de requêtes</h1>',
      '请求过于频繁，请稍后再试',
    ],
  },
  {
    maker: 'throttles in data',
    kind: 'rate',
    type: 'application/json',
    statuses: [200],
    pages: [
      '{"error":"rate limited"}',
      '{"success":false,"message":"Too many requests, try again in 30 s"}',
      '{"code":429,"msg":"请求过于频繁"}',
      '{"errors":[{"code":"RATE_LIMIT_EXCEEDED","message":"Rate limit exceeded"}]}',
    ],
  },
];
