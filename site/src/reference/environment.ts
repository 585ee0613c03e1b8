import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SETTING_NAMES } from '../../../packages/tenure/src/environment.ts'
import { ROOT } from '../stage.ts'
import { table } from './declarations.ts'

const SETTINGS: Readonly<Record<keyof typeof SETTING_NAMES, string>> = {
  lease: 'Name of the lease.',
  revision: 'What the replica runs. A free lease goes to a replica of the newest revision first.',
  zone: 'Where the replica runs. Of several standbys of the newest revision, those in the zone of the present leader try first.',
  namespace: 'Namespace of the lease. Takes precedence over `POD_NAMESPACE`.',
  identity: 'Identity of the replica. Must be unique to each start.',
  featureGates: 'Feature gates as `A=true,B=false`.',
  opsPort:
    'Port of the operations server. The address that Kubernetes sets for a Service named `tenure-ops` is ignored.',
  logLevel: 'Level of the default logger: `debug`, `info`, `warn`, `error`, `silent`.',
}

/** Variables that are no settings of Tenure. */
const OTHERS: Readonly<Record<string, string>> = {
  TENURE_TRACE:
    'File for the trace of the electors of the process, for `tenure check-trace`. Every start of a process writes a new file: a number is added to a name that exists. Not written by default.',
  POD_NAME:
    "First part of the default identity; the default revision if it is the name of a Deployment's Pod; the Pod of the replica for proved death and the holder check.",
  POD_NAMESPACE: 'Namespace of the lease if nothing else names one; the namespace of the Pod.',
  POD_UID:
    'With `POD_NAME`, the owner of the LeaseCandidate in a coordinated election, and of the identity Lease of a member. Tells the Pod of a `lifeLock()` from an earlier one of its name.',
  NODE_NAME: 'Node of the replica in an EndpointSlice of `endpoints()`.',
  CONTAINER_NAME: 'Container of the replica in a Pod with several, for proved death.',
  NO_COLOR: 'If it is not empty, the lines of the default logger have no colours in a terminal.',
  KUBECONFIG: 'Kubeconfig files, separated as in kubectl.',
  TENURE_DEV:
    '`1`: the process joins the running `tenure dev` of this user, unless `KUBECONFIG` names an embedded API server or `--kubeconfig` is given. Its operations port is any free one.',
  HOME: 'Folder of `.kube/config`, and of `.local/state/tenure/dev`, where a process finds `tenure dev`.',
  XDG_STATE_HOME: 'Folder of `tenure/dev`, in place of `.local/state` in the home directory.',
  KUBERNETES_SERVICE_HOST: 'Address of the API server, which Kubernetes sets in a Pod.',
  KUBERNETES_SERVICE_PORT: 'Port of the API server, which Kubernetes sets in a Pod.',
  HTTPS_PROXY: 'Proxy for the API server. A `proxy-url` in the kubeconfig takes precedence. Lower case works as well.',
  HTTP_PROXY: 'Proxy for an API server without TLS. Lower case works as well.',
  NO_PROXY: 'Names, domains, addresses and ranges that need no proxy. Lower case works as well.',
  NODE_TLS_REJECT_UNAUTHORIZED: 'Read as Node reads it.',
}

/** Set by Tenure itself, for processes that it starts. */
const OWN = ['_TENURE_TERM', '_TENURE_TERMINAL']

/** The page of all environment variables. @throws when the sources read a variable that is missing here, or do not read a listed one. */
export function environmentPage(): string {
  const read = variablesInSources()
  const unknown = [...read].filter((name) => !(name in OTHERS) && !OWN.includes(name))
  if (unknown.length > 0) throw new Error(`environment.ts does not describe ${unknown.join(', ')}`)
  const settings = Object.entries(SETTING_NAMES).map(([key, { flag, variable }]) => [
    `\`${variable}\``,
    `\`--${flag}\``,
    SETTINGS[key as keyof typeof SETTING_NAMES],
  ])
  const others = Object.entries(OTHERS).filter(([name]) => read.has(name))
  return (
    [
      '# Environment',
      '## Settings',
      'A variable that begins with `TENURE_` and is not on this page is an error. `--kubeconfig` is a flag without a variable of its own.',
      table(['variable', 'flag', 'meaning'], settings),
      '## Other variables',
      table(
        ['variable', 'meaning'],
        others.map(([name, meaning]) => [`\`${name}\``, meaning]),
      ),
      '## Set by Tenure',
      '`_TENURE_TERM` marks the processes that a term starts, so that their descendants can be found. `tenure exec` starts its program with ' +
        '`TENURE_EPOCH`, the epoch of the term, and with `TENURE_LEASE`, `TENURE_NAMESPACE` and `TENURE_IDENTITY`. ' +
        '`tenure dev` starts its replicas with `TENURE_DEV=1`, and with `KUBECONFIG`, `TENURE_IDENTITY` and `TENURE_OPS_PORT`. ' +
        'In a terminal it also sets `_TENURE_TERMINAL=1`: then the default logger of a replica writes text for people into its pipe.',
    ].join('\n\n') + '\n'
  )
}

/** Names that the sources read from an environment: `env['NAME']`, and names in lists of proxies. */
function variablesInSources(): ReadonlySet<string> {
  const files = globSync('packages/{core,kubernetes,ops,tenure}/src/**/*.ts', { cwd: ROOT })
  const texts = files.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n')
  const patterns = [
    /\benv\??\.?\[?'?\[?'([A-Z_]{3,})'\]/g,
    /\benv\.([A-Z_]{3,})\b/g,
    /'([A-Z]+_PROXY)'/g,
    /const VARIABLE = '([A-Z_]+)'/g,
  ]
  return new Set(patterns.flatMap((pattern) => [...texts.matchAll(pattern)].map(([, name = '']) => name)))
}
