import { BlockList, isIP, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Says which addresses may be dialled, so that a scraper cannot be led to what only this machine can see. */
export interface Guard {
  /** `address` is an IP address; a name is always `ok` here, because it is checked once it is resolved. */
  check(address: string, port: number): 'ok' | 'prohibited' | 'loop';
}

type Subnet = readonly [address: string, prefix: number, family: 'ipv4' | 'ipv6'];

// Link-local space and the metadata services of the clouds: never a site, and worth credentials to an attacker.
const NEVER: readonly Subnet[] = [
  ['169.254.0.0', 16, 'ipv4'],
  ['100.100.100.200', 32, 'ipv4'],
  ['192.0.0.192', 32, 'ipv4'],
  ['168.63.129.16', 32, 'ipv4'],
  ['fe80::', 10, 'ipv6'],
  ['fd00:ec2::254', 128, 'ipv6'],
  ['fd20:ce::254', 128, 'ipv6'],
];

// RFC 1918, RFC 6598, RFC 4193, loopback, "this network", benchmarking, multicast and reserved space.
const PRIVATE: readonly Subnet[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  ['::', 127, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fec0::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
];

const LOCAL: readonly Subnet[] = [
  ['0.0.0.0', 32, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['::', 127, 'ipv6'],
];

/** Builds the guard; `ownAddresses` is asked at each check, since ports are known only after listening. */
export function createGuard(o: {
  allowPrivate: boolean;
  ownAddresses: () => readonly { readonly host: string; readonly port: number }[];
}): Guard {
  const never = listOf(NEVER);
  const inside = listOf(PRIVATE);
  const local = listOf(LOCAL);
  return {
    check(address, port) {
      const ip = withoutZone(address);
      if (isIP(ip) === 0) return 'ok';
      if (holds(never, ip)) return 'prohibited';
      const own = o.ownAddresses().filter((listener) => listener.port === port);
      if (own.some((listener) => reaches(ip, listener.host, local))) return 'loop';
      if (!o.allowPrivate && holds(inside, ip)) return 'prohibited';
      return 'ok';
    },
  };
}

function listOf(subnets: readonly Subnet[]): BlockList {
  const list = new BlockList();
  for (const [address, prefix, family] of subnets) {
    list.addSubnet(address, prefix, family);
    // NAT64 (RFC 6052) carries the same addresses by another name; v4-mapped ones BlockList knows itself.
    if (family === 'ipv4') list.addSubnet(`64:ff9b::${address}`, 96 + prefix, 'ipv6');
  }
  return list;
}

function holds(list: BlockList, ip: string): boolean {
  return list.check(ip, isIPv6(ip) ? 'ipv6' : 'ipv4');
}

/** Whether dialling `ip` ends at a listener bound to `host`. */
function reaches(ip: string, host: string, local: BlockList): boolean {
  const bound = host === 'localhost' ? '127.0.0.1' : withoutZone(host);
  const everywhere = bound === '0.0.0.0' || bound === '::';
  if (everywhere) return holds(local, ip) || interfaceAddresses().some((own) => same(own, ip));
  if (host === 'localhost' && same('::1', ip)) return true;
  // Linux takes a connection to the unspecified address for one to its loopback address.
  const unspecified = same('0.0.0.0', ip) || same('::', ip);
  return same(bound, ip) || (unspecified && holds(local, bound));
}

function same(a: string, b: string): boolean {
  if (isIP(a) === 0) return false;
  const one = new BlockList();
  one.addAddress(a, isIPv6(a) ? 'ipv6' : 'ipv4');
  return holds(one, b);
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((entries) =>
    (entries ?? []).map((entry) => withoutZone(entry.address)),
  );
}

function withoutZone(address: string): string {
  const bare = address.startsWith('[') ? address.slice(1, -1) : address;
  return bare.split('%', 1)[0] ?? bare;
}
