export type { Config } from './config/config.ts';
export { type Proxy, type ProxyOptions, createProxy } from './proxy.ts';
export type { Emit, ProxyEvent } from './telemetry/events.ts';
