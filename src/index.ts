export type { Config } from './config/config.ts';
export { createProxy, type Proxy, type ProxyOptions } from './proxy.ts';
export type { Emit, ProxyEvent } from './telemetry/events.ts';
