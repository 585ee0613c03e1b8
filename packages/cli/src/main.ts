#!/usr/bin/env node
import '@tenure/core/supported-node'
import { parseArgs } from 'node:util'
import { OptionsError } from '@tenure/core'
import { textOf } from '@tenure/core/internal'
import { dev } from './dev.ts'
import { manifestsText } from './manifests.ts'
import { policies } from './policies.ts'

const USAGE = `Usage: tenure dev [--port PORT] [--file FILE] [--kubeconfig FILE]
       tenure manifests --name NAME --namespace NAMESPACE --image IMAGE [...]
       tenure policies --name NAME --namespace NAMESPACE --resource RESOURCE [...]

  dev        runs an embedded Kubernetes API server on this machine until Ctrl-C; the server creates a namespace when the first
             object is written into it

             --port PORT            TCP port on 127.0.0.1; default: any free port
             --file FILE            store the objects in this file; default: in memory only
             --kubeconfig FILE      write the kubeconfig to this file; default: tenure-kubeconfig.yaml

  manifests  prints the objects that a program needs in a cluster, as YAML: ServiceAccount, Role, RoleBinding, FlowSchema,
             PodDisruptionBudget, Deployment

             --name NAME            name of the Lease and of all printed objects
             --namespace NAMESPACE  namespace of the Lease and of the program; it must exist
             --image IMAGE          container image of the program
             --replicas N           number of replicas; default: 2
             --lease NAME           another Lease that the same process campaigns for; repeatable
             --prove-death          let followers detect that the holder's container has terminated
             --members              add the rights of membership() and endpoints() on identity Leases
             --endpoints SERVICE    add the rights of endpoints() on this Service and its EndpointSlice
             --strategy NAME        the strategy of the leases; OldestEmulationVersion adds rights on LeaseCandidates
             --ops-port PORT        port of the probes; default: 8080
             --drain-timeout-ms MS  drainTimeoutMs of the lease, for the grace period; default: 20000
             --abort-grace-ms MS    abortGraceMs of the lease, for the grace period; default: 4000
             --cleanup-timeout-ms MS
                                    cleanupTimeoutMs of the lease, for the grace period; default: 4000

  policies   prints ValidatingAdmissionPolicies and their bindings as YAML; with them, the API server refuses writes of former
             leaders

             --name NAME            name of the Lease
             --namespace NAMESPACE  namespace of the Lease and of the guarded objects
             --resource RESOURCE    guarded resource, such as configmaps or apps/deployments; repeatable
             --check CHECK          term (compare the epoch in the object), holder (compare the holder of the Lease) or all;
                                    default: all
             --service-account NAME service account whose writes the holder check covers; default: same name as the Lease
             --mode MODE            Warn, Audit or Deny; default: Deny
             --kubeconfig FILE      ask this API server for its resources, and warn about those that it does not serve;
                                    default: no check
`

const DEV = { port: { type: 'string' }, file: { type: 'string' }, kubeconfig: { type: 'string' } } as const

const MANIFESTS = {
  name: { type: 'string' },
  namespace: { type: 'string' },
  image: { type: 'string' },
  replicas: { type: 'string' },
  lease: { type: 'string', multiple: true },
  'prove-death': { type: 'boolean' },
  strategy: { type: 'string' },
  members: { type: 'boolean' },
  endpoints: { type: 'string' },
  'ops-port': { type: 'string' },
  'drain-timeout-ms': { type: 'string' },
  'abort-grace-ms': { type: 'string' },
  'cleanup-timeout-ms': { type: 'string' },
} as const

const POLICIES = {
  name: { type: 'string' },
  namespace: { type: 'string' },
  resource: { type: 'string', multiple: true },
  check: { type: 'string' },
  'service-account': { type: 'string' },
  mode: { type: 'string' },
  kubeconfig: { type: 'string' },
} as const

type Command = (args: string[]) => void | Promise<void>

const COMMANDS: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['dev', (args) => dev(parseArgs({ args, options: DEV }).values)],
  ['manifests', (args) => void process.stdout.write(manifestsText(parseArgs({ args, options: MANIFESTS }).values))],
  ['policies', (args) => policies(parseArgs({ args, options: POLICIES }).values)],
])

process.exitCode = await main(process.argv.slice(2))

/** Runs a command line. Returns the exit code: 2 for a wrong command line, 1 for any other failure. */
async function main(args: readonly string[]): Promise<number> {
  try {
    if (args.includes('-h') || args.includes('--help')) console.log(USAGE)
    else await run(args)
    return 0
  } catch (error) {
    console.error(textOf(error))
    if (!isUsageError(error)) return 1
    console.error('\nRun `tenure --help` to list the commands and their options.')
    return 2
  }
}

async function run([name, ...args]: readonly string[]): Promise<void> {
  const command = COMMANDS.get(name ?? '')
  if (command === undefined) {
    const given = name === undefined ? 'none' : `\`${name}\``
    throw new OptionsError(`Expected the command \`dev\`, \`manifests\` or \`policies\`, got ${given}`)
  }
  await command(args)
}

/** Whether the command line is wrong: a bad value of an option, or what `parseArgs()` refuses. */
function isUsageError(error: unknown): boolean {
  return error instanceof OptionsError || (error instanceof TypeError && 'code' in error)
}
