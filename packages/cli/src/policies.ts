import { OptionsError } from '@tenure/core'
import { type FencePolicy, holderCheck, loadKubeConfig, termCheck, toYaml } from '@tenure/kubernetes'
import { type FenceMode, missingResources } from '@tenure/kubernetes/internal'

/** Flags of `tenure policies`, as given. */
export interface PoliciesFlags {
  readonly name?: string
  readonly namespace?: string
  readonly resource?: readonly string[]
  readonly check?: string
  readonly 'service-account'?: string
  readonly mode?: string
  readonly kubeconfig?: string
}

/**
 * Prints the policies. Where a kubeconfig is given, warns of resources that its API server does not serve: nothing else does, and
 * they are not guarded.
 *
 * @throws OptionsError naming the flag or the option that is wrong; ApiRequestError when the server cannot be asked.
 */
export async function policies(flags: PoliciesFlags): Promise<void> {
  const text = policiesText(flags)
  const { kubeconfig, resource = [] } = flags
  if (kubeconfig !== undefined) {
    const missing = await missingResources(() => loadKubeConfig({ kubeConfigPath: kubeconfig }), resource.map(guarded))
    for (const name of missing)
      console.error(`Warning: the API server does not serve \`${name}\`, so nothing of it is guarded`)
  }
  process.stdout.write(text)
}

function policiesText(flags: PoliciesFlags): string {
  const { name, namespace, resource = [], check = 'all', mode } = flags
  if (name === undefined || namespace === undefined) {
    throw new OptionsError('Expected `--name` and `--namespace` of the Lease to be given')
  }
  if (!['all', 'term', 'holder'].includes(check)) {
    throw OptionsError.expected(`\`--check\` to be term, holder or all`, check)
  }
  const options = {
    lease: { name, namespace },
    resources: resource.map(guarded),
    ...(mode !== undefined && { mode: mode as FenceMode }),
  }
  const writers = [`system:serviceaccount:${namespace}:${flags['service-account'] ?? name}`]
  const fences: FencePolicy[] = []
  if (check !== 'holder') fences.push(termCheck(options))
  if (check !== 'term') fences.push(holderCheck({ ...options, writers }))
  return toYaml(
    fences.flatMap(({ policy, binding, epochBinding }) => [policy, binding, ...(epochBinding ? [epochBinding] : [])]),
  )
}

/** `configmaps`, or `apps/deployments`. */
function guarded(text: string) {
  const slash = text.indexOf('/')
  return { apiGroup: text.slice(0, Math.max(slash, 0)), resources: [text.slice(slash + 1)] }
}
