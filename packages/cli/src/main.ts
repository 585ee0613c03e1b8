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
       tenure policies --name NAME --namespace NAMESPACE --resource GROUP/PLURAL [...]

  dev        starts an embedded Kubernetes API server on this machine and stays until Ctrl-C; it creates each namespace with the
             first object that is written into it

             --port PORT            TCP port on loopback; any free one by default
             --file FILE            keep the objects in this file; in memory only by default
             --kubeconfig FILE      where to write the kubeconfig; tenure-kubeconfig.yaml by default

  manifests  prints what a program needs in a cluster as YAML: ServiceAccount, Role, RoleBinding, FlowSchema,
             PodDisruptionBudget, Deployment

             --name NAME            of the Lease, and of everything that is made
             --namespace NAMESPACE  where it lives; it must exist
             --image IMAGE          container image of the program
             --replicas N           2 by default
             --lease NAME           a further Lease that the same process stands for; may be given more than once
             --prove-death          allow followers to look for proof that the holder's container has ended
             --ops-port PORT        that the probes ask; 8080 by default
             --drain-timeout-ms MS  drainTimeoutMs of the lease, for the grace period; 20000 by default
             --abort-grace-ms MS    abortGraceMs of the lease, for the grace period; 4000 by default
             --cleanup-timeout-ms MS
                                    cleanupTimeoutMs of the lease, for the grace period; 4000 by default

  policies   prints the fences on the server as YAML: ValidatingAdmissionPolicies and their bindings, which refuse the writes
             of former leaders

             --name NAME            of the Lease
             --namespace NAMESPACE  of the Lease, and of what is guarded
             --resource RESOURCE    what is guarded, such as configmaps or apps/deployments; may be given more than once
             --check CHECK          term (by the epoch in the object), holder (by the Lease) or all; all by default
             --service-account NAME whose writes the holder check minds; the name of the Lease by default
             --mode MODE            Warn, Audit or Deny; Deny by default
             --kubeconfig FILE      warn of resources that the API server of this kubeconfig does not serve; not asked by default
`

const DEV = { port: { type: 'string' }, file: { type: 'string' }, kubeconfig: { type: 'string' } } as const

const MANIFESTS = {
  name: { type: 'string' },
  namespace: { type: 'string' },
  image: { type: 'string' },
  replicas: { type: 'string' },
  lease: { type: 'string', multiple: true },
  'prove-death': { type: 'boolean' },
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

process.exitCode = await main(process.argv.slice(2))

async function main([command = '', ...args]: readonly string[]): Promise<number> {
  try {
    if (command === '-h' || args.includes('-h') || [command, ...args].includes('--help')) console.log(USAGE)
    else if (command === 'dev') await dev(parseArgs({ args, options: DEV }).values)
    else if (command === 'manifests')
      process.stdout.write(manifestsText(parseArgs({ args, options: MANIFESTS }).values))
    else if (command === 'policies') await policies(parseArgs({ args, options: POLICIES }).values)
    else throw OptionsError.expected(`the command \`dev\`, \`manifests\` or \`policies\``, command)
    return 0
  } catch (error) {
    console.error(textOf(error))
    const isUsage = error instanceof OptionsError || (error instanceof TypeError && 'code' in error)
    if (isUsage) console.error(`\n${USAGE}`)
    return isUsage ? 2 : 1
  }
}
