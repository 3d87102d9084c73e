import { createHash, createPublicKey } from 'node:crypto';

/** How to make the system, browsers and runtimes trust the CA for good, as commands to paste. */
export function installHelp(caFile: string, caPem: string): string {
  const ca = shellQuoted(caFile);
  const sections: readonly (readonly [string, readonly string[]])[] = [
    ['One command, nothing installed', ['forbear run -- python scraper.py']],
    ['One shell, nothing installed', ['eval "$(forbear env)"']],
    [
      'Debian, Ubuntu',
      [`sudo cp ${ca} /usr/local/share/ca-certificates/forbear.crt`, 'sudo update-ca-certificates'],
    ],
    [
      'Fedora, RHEL',
      [`sudo cp ${ca} /etc/pki/ca-trust/source/anchors/forbear.pem`, 'sudo update-ca-trust'],
    ],
    ['Arch', [`sudo trust anchor ${ca}`]],
    ['Alpine', [`cp ${ca} /usr/local/share/ca-certificates/forbear.crt`, 'update-ca-certificates']],
    [
      'macOS (Safari, Chrome, curl of the system)',
      [
        `sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain ${ca}`,
      ],
    ],
    ['Windows (Edge, Chrome), as administrator', [`certutil -addstore -f Root ${ca}`]],
    [
      'Chromium, Chrome on Linux',
      [
        'mkdir -p "$HOME/.pki/nssdb"',
        `certutil -d sql:"$HOME/.pki/nssdb" -A -t C,, -n forbear -i ${ca}`,
        '# certutil is in the package libnss3-tools (nss-tools); or, for one start only:',
        `chromium --proxy-server=http://127.0.0.1:8888 --ignore-certificate-errors-spki-list=${spkiHash(caPem)}`,
      ],
    ],
    [
      'Firefox',
      [
        '# Settings, Privacy & Security, Certificates, View Certificates, Authorities, Import; or by profile:',
        `certutil -d sql:PROFILE_FOLDER -A -t C,, -n forbear -i ${ca}`,
      ],
    ],
    [
      'Java',
      [
        `keytool -importcert -noprompt -cacerts -storepass changeit -alias forbear -file ${ca}`,
        '# or for one command: forbear run --java -- java -jar scraper.jar',
      ],
    ],
    [
      'Take it out again (Debian, Ubuntu)',
      [
        'sudo rm /usr/local/share/ca-certificates/forbear.crt',
        'sudo update-ca-certificates --fresh',
      ],
    ],
  ];
  const intro = [
    `The CA is ${caFile}. It was made on this machine, and its key never leaves it.`,
    'Anyone who holds that key can read the traffic of whoever trusts the CA: never share it.',
  ];
  const body = sections.map(([title, lines]) =>
    [`${title}:`, ...lines.map((l) => `  ${l}`)].join('\n'),
  );
  return [intro.join('\n'), ...body].join('\n\n');
}

/** What Chromium's `--ignore-certificate-errors-spki-list` takes: the hash of the CA's public key. */
function spkiHash(caPem: string): string {
  const spki = createPublicKey(caPem).export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(spki).digest('base64');
}

function shellQuoted(path: string): string {
  return /^[\w./:@%+,=-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
