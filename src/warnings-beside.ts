import { systemClock, timeOfDay } from './clock.ts';
import type { Config } from './config/config.ts';
import type { Bus } from './telemetry/bus.ts';
import { createWarningWebhook } from './telemetry/warning-webhook.ts';
import { createWarnings, type Warnings } from './telemetry/warnings.ts';

/** The watch over all lanes beside a proxy, and the webhook that hears of it; `stop` ends the webhook. */
export function warningsBeside(bus: Bus, config: () => Config): Warnings & { stop(): void } {
  const shared = { clock: systemClock, emit: bus.emit };
  const warnings = createWarnings({ ...shared, timeOfDay });
  const webhook = createWarningWebhook({ ...shared, url: () => config().earlyWarning.webhook });
  bus.subscribe(warnings.record);
  bus.subscribe(webhook.record);
  return { ...warnings, stop: webhook.stop };
}
