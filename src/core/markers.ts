import { FIREWALL_MARKERS } from './firewall-markers.ts';
import type { Marker } from './marker.ts';
import { PROTECTOR_MARKERS } from './protector-markers.ts';
import { SITE_MARKERS } from './site-markers.ts';

/** Pages of known makers, whatever their status. The first row that fits names it, so the narrower come first. */
export const VENDOR_MARKERS: readonly Marker[] = [
  ...PROTECTOR_MARKERS,
  ...FIREWALL_MARKERS,
  ...SITE_MARKERS,
];
