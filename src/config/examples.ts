/** Entries for the lists and maps that are empty by default: shown in the file as comments, and in the documentation. */
export const examples: Readonly<Record<string, string>> = {
  clients: `- name: crawler
  password: \${CRAWLER_PASSWORD}
`,
  'tls.client_certs': `- host: "*.internal.example"
  cert: client.pem
  key: client.key
`,
  upstreams: `- name: residential
  gateway: http://customer-USERNAME[-country-{country|lower}]-sid-{session|alnum:12}:\${SHIFTER_PASSWORD}@p.shifter.io:443
  session_ttl: 10m
  price_per_gb: 3.00
- name: by-provider
  provider: brightdata
  account: hl_1234
  zone: residential
  country: us
  password: \${BRIGHTDATA_PASSWORD}
- name: datacenter
  routes: [http://user:pass@dc1.example:3128, socks5://dc2.example:1080]
  max_ejected_ratio: 0.5
- name: direct
`,
  profiles: `patient:
  patience: 10m
  max_attempts: 12
`,
  targets: `- match: www.example.com/rest/**
  pace: { delay: 10s..20s, concurrency: 1 }
  backoff: { base: 20s, factor: 3, cap: 300s, jitter: 0.2, count: lane }
  replies:
    - when: { status: 400, body_contains: ENTRY_DELETED }
      verdict: terminal
      label: entry-deleted
  expect:
    - when: { path: "/search*", status: 200 }
      body_contains: "</html>"
      else: transient
- match: { host: "*.example.org", method: POST, client: crawler }
  max_attempts: 2
`,
  'policy.probe': `url: https://www.example.com/account
expect: Sign out
`,
};
