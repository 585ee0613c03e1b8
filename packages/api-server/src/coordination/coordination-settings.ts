import { OptionsError } from '@tenure/core'
import { assertKnownKeys } from '@tenure/core/internal'

/** The versions of the API of lease candidates. Both serve the same objects. */
const CANDIDATE_VERSIONS = ['v1beta1', 'v1alpha2'] as const

/** Feature gates of the server, by the names of kube-apiserver. */
interface ApiServerFeatureGates {
  /**
   * Coordinated leader election: a controller of the server names the holders of leases. Needs
   * `runtimeConfig: { 'coordination.k8s.io/v1beta1': true }`; without it the server is never ready, as kube-apiserver. @default false
   */
  readonly CoordinatedLeaderElection?: boolean
}

/** API versions that are off by default, in the form of kube-apiserver's `--runtime-config`. */
interface RuntimeConfig {
  /** LeaseCandidates. @default false */
  readonly 'coordination.k8s.io/v1beta1'?: boolean
  /** LeaseCandidates under their alpha version. @default false */
  readonly 'coordination.k8s.io/v1alpha2'?: boolean
}

/** Options about coordinated leader election, as kube-apiserver has them. */
export interface CoordinationOptions {
  /** Which features are on. @default all off */
  readonly featureGates?: ApiServerFeatureGates
  /** Which API versions are served that are off by default. @default none */
  readonly runtimeConfig?: RuntimeConfig
}

/** {@link CoordinationOptions}, checked. */
export interface CoordinationSettings {
  /** Whether leases keep `strategy` and `preferredHolder`. */
  readonly isOn: boolean
  /** The served versions of lease candidates. */
  readonly versions: readonly string[]
}

/** @throws OptionsError that names the wrong option */
export function resolveCoordination({
  featureGates = {},
  runtimeConfig = {},
}: CoordinationOptions): CoordinationSettings {
  const groupVersions = CANDIDATE_VERSIONS.map((version) => `coordination.k8s.io/${version}` as const)
  assertBooleans('featureGates', featureGates, ['CoordinatedLeaderElection'])
  assertBooleans('runtimeConfig', runtimeConfig, groupVersions)
  return {
    isOn: featureGates.CoordinatedLeaderElection === true,
    versions: CANDIDATE_VERSIONS.filter((version) => runtimeConfig[`coordination.k8s.io/${version}`] === true),
  }
}

/** Whether a controller elects: only with its API. */
export function elects({ isOn, versions }: CoordinationSettings): boolean {
  return isOn && versions.includes('v1beta1')
}

function assertBooleans(option: string, values: object, names: readonly string[]): void {
  assertKnownKeys(`\`${option}\``, values, names)
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'boolean' || value === undefined) continue
    throw OptionsError.expected(`\`${option}['${name}']\` to be true or false`, value)
  }
}
