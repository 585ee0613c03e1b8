import { OptionsError } from '@tenure/core'
import { manifests, toYaml } from '@tenure/kubernetes'
import type { Command } from 'commander'
import { addCommand } from './add-command.ts'
import { repeated } from './repeated.ts'
import type { Invocation } from './terminal.ts'

/** Adds `tenure manifests`. */
export function addManifests(program: Command, { terminal }: Invocation): void {
  addCommand(program, {
    usage: 'manifests',
    does: 'print the objects that a program needs in a cluster, as YAML: ServiceAccount, Role, RoleBinding, FlowSchema, PodDisruptionBudget, Deployment',
    examples: ['tenure manifests --name janitor --namespace ops --image janitor:1 | kubectl apply -f -'],
  })
    .option('--name <name>', 'name of the Lease and of all printed objects')
    .option('-n, --namespace <name>', 'namespace of the Lease and of the program; it must exist')
    .option('--image <image>', 'container image of the program')
    .option('--replicas <n>', 'number of replicas; default: 2')
    .option('--lease <name>', 'another Lease that the same process campaigns for; repeatable', repeated)
    .option('--prove-death', "let followers detect that the holder's container has terminated")
    .option('--for-life', 'the leases are ConfigMaps of lifeLock(): rights on ConfigMaps and Pods, and no Leases')
    .option('--watch-pod', 'let replicas see that their own Pod is being deleted')
    .option('--watch-node', 'the same, and that their node is drained; adds a ClusterRole')
    .option('--members', 'add the rights of membership() and endpoints() on identity Leases')
    .option('--endpoints <service>', 'add the rights of endpoints() on this Service and its EndpointSlice')
    .option('--strategy <name>', 'the strategy of the leases; OldestEmulationVersion adds rights on LeaseCandidates')
    .option('--ops-port <port>', 'port of the probes; default: 8080')
    .option('--drain-timeout-ms <ms>', 'drainTimeoutMs of the lease, for the grace period; default: 20000')
    .option('--abort-grace-ms <ms>', 'abortGraceMs of the lease, for the grace period; default: 4000')
    .option('--cleanup-timeout-ms <ms>', 'cleanupTimeoutMs of the lease, for the grace period; default: 4000')
    .action((flags: ManifestsFlags) => terminal.out(manifestsText(flags)))
}

/** Flags of `tenure manifests`, as given. */
interface ManifestsFlags {
  readonly name?: string
  readonly namespace?: string
  readonly image?: string
  readonly replicas?: string
  readonly lease?: readonly string[]
  readonly opsPort?: string
  readonly drainTimeoutMs?: string
  readonly abortGraceMs?: string
  readonly cleanupTimeoutMs?: string
  readonly proveDeath?: boolean
  readonly forLife?: boolean
  readonly watchPod?: boolean
  readonly watchNode?: boolean
  readonly strategy?: string
  readonly members?: boolean
  readonly endpoints?: string
}

/** Returns the YAML that `tenure manifests` prints. @throws OptionsError naming the invalid flag or option. */
function manifestsText(flags: ManifestsFlags): string {
  const numbers = NUMBERS.map(([key, flag]) => [key, numberOf(flags[key], flag)] as const)
  const objects = manifests({
    name: required(flags, 'name'),
    namespace: required(flags, 'namespace'),
    image: required(flags, 'image'),
    others: flags.lease ?? [],
    proveDeath: flags.proveDeath ?? false,
    forLife: flags.forLife ?? false,
    members: flags.members ?? false,
    ...(flags.endpoints !== undefined && { endpoints: flags.endpoints }),
    ...(flags.watchPod !== undefined && { watchPod: flags.watchPod }),
    ...(flags.watchNode !== undefined && { watchNode: flags.watchNode }),
    ...(flags.strategy !== undefined && { strategy: flags.strategy }),
    ...Object.fromEntries(numbers.filter(([, value]) => value !== undefined)),
  })
  return toYaml(objects)
}

function required(flags: ManifestsFlags, flag: 'name' | 'namespace' | 'image'): string {
  const value = flags[flag]
  if (value !== undefined) return value
  throw new OptionsError(`Expected \`--${flag}\` to be given, got none`)
}

/** The numbers among the flags. */
const NUMBERS = [
  ['replicas', 'replicas'],
  ['opsPort', 'ops-port'],
  ['drainTimeoutMs', 'drain-timeout-ms'],
  ['abortGraceMs', 'abort-grace-ms'],
  ['cleanupTimeoutMs', 'cleanup-timeout-ms'],
] as const

function numberOf(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new OptionsError(`Expected \`--${flag}\` to be a whole number, got \`${text}\``)
}
