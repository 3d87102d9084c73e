/** The proxy's address. Both cases: curl reads only `http_proxy`, wget only lower case, others only capitals. */
export const PROXY_VARIABLES = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy'] as const;

/** Hosts that are not reached through the proxy. */
export const NO_PROXY_VARIABLES = ['NO_PROXY', 'no_proxy'] as const;

/** Clients that trust nothing but what this file holds, so it holds the system's roots as well. */
export const BUNDLE_VARIABLES = [
  'SSL_CERT_FILE',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'AWS_CA_BUNDLE',
  'PIP_CERT',
  'GIT_SSL_CAINFO',
  'PERL_LWP_SSL_CA_FILE',
  'HTTPLIB2_CA_CERTS',
  'CARGO_HTTP_CAINFO',
  'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH',
] as const;

/** Clients that add this file to the roots they have. */
export const CA_VARIABLES = ['NODE_EXTRA_CA_CERTS', 'DENO_CERT'] as const;

/** Clients that look at proxy variables only when told to. */
export const SWITCHES = { NODE_USE_ENV_PROXY: '1', PERL_LWP_ENV_PROXY: '1' } as const;

/** Clients that are told by a file or a folder of their own. */
export const FILE_VARIABLES = ['WGETRC', 'PHP_INI_SCAN_DIR'] as const;

/** Only on request: Java prints a line about it at each start. */
export const JAVA_VARIABLE = 'JAVA_TOOL_OPTIONS';

/** Every variable that `forbear run` and `forbear env` may set. */
export const CLIENT_VARIABLES: readonly string[] = [
  ...PROXY_VARIABLES,
  ...NO_PROXY_VARIABLES,
  ...BUNDLE_VARIABLES,
  ...CA_VARIABLES,
  ...Object.keys(SWITCHES),
  ...FILE_VARIABLES,
  JAVA_VARIABLE,
];
