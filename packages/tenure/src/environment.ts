import { parseArgs } from 'node:util'
import { OptionsError } from '@tenure/core'
import { assertKnownKeys } from '@tenure/core/internal'

/** Settings from flags and the environment, as text. A setting that is not given is absent. */
export interface TextSettings {
  readonly lease?: string
  readonly namespace?: string
  readonly identity?: string
  readonly revision?: string
  readonly zone?: string
  readonly featureGates?: string
  readonly opsPort?: string
  readonly logLevel?: string
  readonly kubeconfig?: string
}

/** The name of each setting as a flag and as a variable. */
export const SETTING_NAMES = {
  lease: { flag: 'lease', variable: 'TENURE_LEASE' },
  namespace: { flag: 'namespace', variable: 'TENURE_NAMESPACE' },
  identity: { flag: 'identity', variable: 'TENURE_IDENTITY' },
  revision: { flag: 'revision', variable: 'TENURE_REVISION' },
  zone: { flag: 'zone', variable: 'TENURE_ZONE' },
  featureGates: { flag: 'feature-gates', variable: 'TENURE_FEATURE_GATES' },
  opsPort: { flag: 'ops-port', variable: 'TENURE_OPS_PORT' },
  logLevel: { flag: 'log-level', variable: 'TENURE_LOG_LEVEL' },
} as const

/**
 * Variables that are no settings of the manager: `tenure exec` sets the first one for its program, the second one lets a process join
 * `tenure dev`, and the last one names the file of the trace.
 */
const PROGRAM_VARIABLES = ['TENURE_EPOCH', 'TENURE_DEV', 'TENURE_TRACE']

/** Variables that Kubernetes sets in every Pod of a namespace with a Service whose name begins with `tenure`. */
const SERVICE_VARIABLE = /_SERVICE_(HOST|PORT_.*)$|_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$/

/** Whether Kubernetes set the variable for a Service. `TENURE_OPS_PORT` can be a setting or the address of a Service `tenure-ops`. */
function isServiceLink(name: string, value: string | undefined): boolean {
  return SERVICE_VARIABLE.test(name) && /^(tcp|udp|sctp):\/\//i.test(String(value))
}

/**
 * Reads the `TENURE_` variables, and `POD_NAMESPACE` where no namespace is given.
 * @throws OptionsError for an unknown `TENURE_` variable, with the nearest known name.
 */
export function readEnvironment(env: NodeJS.ProcessEnv): TextSettings {
  const known: string[] = [...Object.values(SETTING_NAMES).map(({ variable }) => variable), ...PROGRAM_VARIABLES]
  const given = Object.keys(env).filter((key) => key.startsWith('TENURE_') && !SERVICE_VARIABLE.test(key))
  assertKnownKeys('the environment', Object.fromEntries(given.map((key) => [key, env[key]])), known)
  const settings = collect(({ variable }) => (isServiceLink(variable, env[variable]) ? undefined : env[variable]))
  const podNamespace = env['POD_NAMESPACE']
  return settings.namespace === undefined && podNamespace ? { ...settings, namespace: podNamespace } : settings
}

/** Reads Tenure's own flags and ignores all others. @throws OptionsError for a flag without a value. */
export function readFlags(argv: readonly string[]): TextSettings {
  const flags = [...Object.values(SETTING_NAMES).map(({ flag }) => flag), 'kubeconfig']
  const { values } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(flags.map((flag) => [flag, { type: 'string' as const }])),
    strict: false,
  })
  const text = (flag: string): string | undefined => {
    const value = values[flag]
    if (value === undefined || typeof value === 'string') return value
    throw new OptionsError(`Expected flag \`--${flag}\` to have a value, as in \`--${flag}=VALUE\``)
  }
  const kubeconfig = text('kubeconfig')
  return { ...collect(({ flag }) => text(flag)), ...(kubeconfig !== undefined && { kubeconfig }) }
}

function collect(
  read: (name: { readonly flag: string; readonly variable: string }) => string | undefined,
): TextSettings {
  const entries = Object.entries(SETTING_NAMES).map(([key, name]) => [key, read(name)] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined && value !== ''))
}
