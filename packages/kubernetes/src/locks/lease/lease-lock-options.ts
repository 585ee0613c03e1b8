import { ANNOTATION_PREFIX, OptionsError } from '@tenure/core'
import { assertKnownKeys, type Departure } from '@tenure/core/internal'
import { assertDnsLabel, assertDnsSubdomain } from '../../client/dns-name.ts'
import type { DeathProof } from '../death-proof.ts'
import { assertLabels } from '../../client/labels.ts'
import { LEASE_CLIENT_KEYS, LeaseClient, type LeaseClientOptions } from './lease-client.ts'

/** Options of a LeaseLock. Either `client` or `kubeConfig` is required; the other options of the client need `kubeConfig`. */
export interface LeaseLockOptions extends Partial<LeaseClientOptions> {
  /** The client for the requests, if several locks share it. Not closed with the lock. @default its own client */
  readonly client?: LeaseClient
  /** Name of the Lease. */
  readonly name: string
  /** Namespace of the Lease. It must exist. */
  readonly namespace: string
  /** Labels that every write adds to those of the lease. @default {} */
  readonly labels?: Readonly<Record<string, string>>
  /** Annotations that every write adds to those of the lease. None may start with `tenure.dev/`. @default {} */
  readonly annotations?: Readonly<Record<string, string>>
  /**
   * Time within which a silent watch or a dead connection is detected, in milliseconds. Use twice the retry period of the
   * election. A shared watch uses the shortest time of its locks. @default 4000
   */
  readonly silenceMs?: number
  /** Proves the death of a holder, so that followers need not wait for its lease to expire. @default none */
  readonly deathProof?: DeathProof | undefined
  /** Tells whether this replica is about to be stopped, so that others lead first. @default none */
  readonly departure?: Departure | undefined
}

/** {@link LeaseLockOptions} with every default filled in. */
export interface ResolvedLeaseLockOptions extends Required<
  Omit<LeaseLockOptions, keyof LeaseClientOptions | 'client'>
> {
  readonly client: LeaseClient
  /** Whether the client was made for this lock, and is closed with it. */
  readonly ownsClient: boolean
}

const KEYS: readonly (keyof LeaseLockOptions)[] = [
  'client',
  'name',
  'namespace',
  'labels',
  'annotations',
  'silenceMs',
  'deathProof',
  'departure',
  ...LEASE_CLIENT_KEYS,
]

/** Checks all options and fills in the defaults. @throws OptionsError naming the option, its value and what was expected */
export function resolveLeaseLockOptions(options: LeaseLockOptions, title = 'LeaseLock'): ResolvedLeaseLockOptions {
  const {
    client,
    name,
    namespace,
    labels = {},
    annotations = {},
    silenceMs = 4000,
    deathProof,
    departure,
    ...ofClient
  } = options
  assertKnownKeys(`the options of a ${title}`, options, KEYS)
  assertDnsSubdomain('name', name)
  assertDnsLabel('namespace', namespace)
  assertLabels('labels', labels)
  for (const key of Object.keys(annotations)) {
    if (!key.startsWith(ANNOTATION_PREFIX)) continue
    throw OptionsError.expected(`no key of \`annotations\` to start with \`${ANNOTATION_PREFIX}\``, key)
  }
  if (!Number.isFinite(silenceMs) || silenceMs <= 0) {
    throw OptionsError.expected(`\`silenceMs\` to be a positive number of milliseconds`, silenceMs)
  }
  return {
    name,
    namespace,
    labels,
    annotations,
    silenceMs,
    deathProof,
    departure,
    client: client ?? ownClient(ofClient),
    ownsClient: client === undefined,
  }
}

function ownClient({ kubeConfig, ...rest }: Partial<LeaseClientOptions>): LeaseClient {
  if (kubeConfig === undefined)
    throw new OptionsError('Expected either `client` or `kubeConfig` to be given, got neither')
  return new LeaseClient({ kubeConfig, ...rest })
}
