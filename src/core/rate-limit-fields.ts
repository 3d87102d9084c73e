import { fieldValues, type RawHeaders, splitOutsideQuotes } from './fields.ts';

/** One entry of a RateLimit field: what is left, and the seconds until it is refilled, as they were written. */
export interface RateLimitItem {
  readonly text: string;
  readonly remaining: string | undefined;
  readonly reset: string | undefined;
}

/**
 * Reads RateLimit and RateLimit-Policy (structured fields, draft-ietf-httpapi-ratelimit-headers): `"default";r=0;t=30`,
 * and the dictionary of its older drafts: `limit=10, remaining=0, reset=30`. Unreadable parts are left out.
 * Where a spent limit has no `t`, the window `w` of the policy of the same name is the latest time it can last.
 */
export function rateLimitItems(raw: RawHeaders): RateLimitItem[] {
  const members = membersOf(raw, 'ratelimit');
  if (members.some((member) => member.head.startsWith('remaining='))) return [dictionary(members)];
  const policies = membersOf(raw, 'ratelimit-policy');
  return members.flatMap(({ head, parameters, text }) => {
    const remaining = parameters.get('r');
    if (remaining === undefined) return [];
    const windowOf = () => policies.find((policy) => policy.head === head)?.parameters.get('w');
    return [{ text, remaining, reset: parameters.get('t') ?? windowOf() }];
  });
}

function dictionary(members: readonly Member[]): RateLimitItem {
  const value = (key: string) =>
    members.find(({ head }) => head.startsWith(`${key}=`))?.head.slice(key.length + 1);
  const text = members.map((member) => member.text).join(', ');
  return { text, remaining: value('remaining'), reset: value('reset') };
}

interface Member {
  readonly text: string;
  /** What stands before the parameters. */
  readonly head: string;
  readonly parameters: ReadonlyMap<string, string>;
}

function membersOf(raw: RawHeaders, name: string): Member[] {
  return splitOutsideQuotes(fieldValues(raw, name).join(','), ',').flatMap((text) => {
    const [head = '', ...rest] = splitOutsideQuotes(text, ';');
    if (head === '') return [];
    const parameters = new Map(
      rest.map((parameter) => {
        const [key = '', value = ''] = parameter.split('=', 2);
        return [key.trim().toLowerCase(), value.trim()] as const;
      }),
    );
    return [{ text, head, parameters }];
  });
}
