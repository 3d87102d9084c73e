import { chance } from '../support/chance.ts';

/** Draws from [0, 1), the same for the same seed. */
export function seeded(seed: number | string): () => number {
  let n = 0;
  return () => chance(seed, n++);
}

/** Words of one language, for pages that say nothing in particular. */
export interface Tongue {
  readonly code: string;
  readonly shop: string;
  readonly words: string;
  readonly nothing: string;
  readonly login: string;
  readonly noScript: string;
  readonly cookies: string;
}

export const TONGUES: readonly Tongue[] = [
  {
    code: 'en',
    shop: 'Garden shop',
    words:
      'the watering can is made of steel and holds nine litres for beds and pots near your house',
    nothing: 'Your search found 0 results. Try other words.',
    login: 'Log in with your customer number and password. Forgotten it?',
    noScript: 'You need to enable JavaScript to run this app.',
    cookies: 'We use cookies to make this site better. Accept all or choose.',
  },
  {
    code: 'de',
    shop: 'Gartenladen',
    words: 'die Gießkanne ist aus Stahl und fasst neun Liter für Beete und Töpfe rund um Ihr Haus',
    nothing: 'Ihre Suche ergab leider keine Treffer. Versuchen Sie es mit anderen Wörtern.',
    login: 'Anmelden mit Kundennummer und Passwort. Passwort vergessen?',
    noScript: 'Bitte aktivieren Sie JavaScript, um diese Anwendung zu nutzen.',
    cookies: 'Wir verwenden Cookies, um diese Seite zu verbessern. Alle annehmen oder auswählen.',
  },
  {
    code: 'fr',
    shop: 'Jardinerie',
    words:
      "l'arrosoir est en acier et contient neuf litres pour les massifs et les pots de la maison",
    nothing: "Aucun résultat pour votre recherche. Essayez avec d'autres mots.",
    login: 'Connexion avec votre numéro client et votre mot de passe. Oublié ?',
    noScript: 'Veuillez activer JavaScript pour utiliser cette application.',
    cookies: 'Nous utilisons des cookies pour améliorer ce site. Tout accepter ou choisir.',
  },
  {
    code: 'es',
    shop: 'Tienda de jardín',
    words:
      'la regadera es de acero y contiene nueve litros para los macizos y las macetas de la casa',
    nothing: 'No hay resultados para su búsqueda. Pruebe con otras palabras.',
    login: 'Entre con su número de cliente y contraseña. ¿La ha olvidado?',
    noScript: 'Necesita activar JavaScript para usar esta aplicación.',
    cookies: 'Usamos cookies para mejorar este sitio. Aceptar todas o elegir.',
  },
  {
    code: 'pt',
    shop: 'Loja do jardim',
    words:
      'o regador é feito de aço e leva nove litros para os canteiros e vasos perto da sua casa',
    nothing: 'Nenhum resultado para a sua pesquisa. Tente outras palavras.',
    login: 'Entre com o número de cliente e a senha. Esqueceu?',
    noScript: 'Habilite o JavaScript para usar este aplicativo.',
    cookies: 'Usamos cookies para melhorar este site. Aceitar todos ou escolher.',
  },
  {
    code: 'ru',
    shop: 'Садовый магазин',
    words: 'лейка сделана из стали и вмещает девять литров для грядок и горшков возле вашего дома',
    nothing: 'По вашему запросу ничего не найдено. Попробуйте другие слова.',
    login: 'Вход по номеру клиента и паролю. Забыли пароль?',
    noScript: 'Включите JavaScript, чтобы пользоваться приложением.',
    cookies: 'Мы используем файлы cookie, чтобы улучшить сайт. Принять все или выбрать.',
  },
  {
    code: 'ja',
    shop: '園芸店',
    words: 'じょうろ は 鋼 で できて いて 家 の まわり の 花壇 と 鉢 の ため に 九 リットル 入る',
    nothing: '検索結果は0件でした。別の言葉でお試しください。',
    login: '会員番号とパスワードでログイン。お忘れですか。',
    noScript: 'このアプリを使うにはJavaScriptを有効にしてください。',
    cookies: 'このサイトはクッキーを使っています。すべて許可するか選んでください。',
  },
  {
    code: 'zh',
    shop: '园艺店',
    words: '浇水壶 用 钢 制成 可 装 九 升 水 适合 花坛 和 花盆 放在 房子 旁边',
    nothing: '没有找到相关结果。请尝试其他词语。',
    login: '用客户号和密码登录。忘记密码？',
    noScript: '请启用JavaScript以运行此应用。',
    cookies: '本网站使用 Cookie。全部接受或选择。',
  },
];

/** Sentences of about so many characters, the same for the same seed. */
export function prose(tongue: Tongue, chars: number, seed: number): string {
  const random = seeded(seed);
  const words = tongue.words.split(' ');
  const sentences: string[] = [];
  for (let length = 0; length < chars; ) {
    const size = 6 + Math.floor(random() * 9);
    const picked = Array.from({ length: size }, () => words[Math.floor(random() * words.length)]);
    const sentence = `${picked.join(' ')} ${Math.floor(random() * 9000)}.`;
    sentences.push(sentence);
    length += sentence.length;
  }
  return sentences.map((sentence) => `<p>${sentence}</p>`).join('\n');
}

/** What pages carry around: trackers, styles, settings. It differs from one page to the next. */
export function baggage(seed: number): string {
  const random = seeded(seed);
  const id = () => Math.floor(random() * 2 ** 40).toString(36);
  const parts = [
    `<script async src="https://www.googletagmanager.com/gtag/js?id=G-${id()}"></script>`,
    `<style>.a${id()}{margin:0 auto;max-width:${Math.floor(random() * 900)}px}</style>`,
    `<script>window.dataLayer=window.dataLayer||[];function gtag(){dataLayer.push(arguments)}gtag('js',new Date)</script>`,
    `<!-- build ${id()} -->`,
    `<link rel="stylesheet" href="/static/${id()}.css">`,
    `<script nonce="${id()}">!function(e,t){e._q=e._q||[];e._q.push(["${id()}"])}(window)</script>`,
  ];
  return parts.filter(() => random() < 0.5).join('\n');
}
