import { OptionsError } from '@tenure/core'
import { type FencePolicy, holderCheck, loadKubeConfig, termCheck, toYaml } from '@tenure/kubernetes'
import { type FenceMode, missingResources } from '@tenure/kubernetes/internal'
import type { Command } from 'commander'
import { addCommand } from './add-command.ts'
import { repeated } from './repeated.ts'
import type { Invocation, Terminal } from './terminal.ts'

/** Adds `tenure policies`. */
export function addPolicies(program: Command, { terminal }: Invocation): void {
  addCommand(program, {
    usage: 'policies',
    does: 'print admission policies and their bindings as YAML; with them, the API server refuses writes of former leaders',
    examples: ['tenure policies --name janitor --namespace ops --resource configmaps --resource apps/deployments'],
  })
    .option('--name <name>', 'name of the Lease')
    .option('-n, --namespace <name>', 'namespace of the Lease and of the guarded objects')
    .option('--resource <resource>', 'guarded resource, such as configmaps or apps/deployments; repeatable', repeated)
    .option(
      '--check <check>',
      'term (compare the epoch in the object), holder (compare the holder of the Lease) or all; default: all',
    )
    .option(
      '--service-account <name>',
      'service account whose writes the holder check covers; default: same name as the Lease',
    )
    .option('--mode <mode>', 'Warn, Audit or Deny; default: Deny')
    .option(
      '--kubeconfig <file>',
      'ask this API server for its resources, and warn about those that it does not serve; default: no check',
    )
    .action((flags: PoliciesFlags) => policies(flags, terminal))
}

/** Flags of `tenure policies`, as given. */
interface PoliciesFlags {
  readonly name?: string
  readonly namespace?: string
  readonly resource?: readonly string[]
  readonly check?: string
  readonly serviceAccount?: string
  readonly mode?: string
  readonly kubeconfig?: string
}

/**
 * Prints the policies. With `--kubeconfig`, warns about resources that the API server does not serve: the API server accepts policies
 * for them and guards nothing.
 *
 * @throws OptionsError naming the invalid flag or option.
 * @throws KubeConfigError if the kubeconfig cannot be used, ApiRequestError if the API server does not list its resources.
 */
async function policies(flags: PoliciesFlags, terminal: Terminal): Promise<void> {
  const text = policiesText(flags)
  const { kubeconfig, resource = [] } = flags
  if (kubeconfig !== undefined) {
    const missing = await missingResources(loadKubeConfig({ kubeConfigPath: kubeconfig }), resource.map(guarded))
    for (const name of missing)
      terminal.err(`Warning: the API server does not serve \`${name}\`, so no policy guards it\n`)
  }
  terminal.out(text)
}

function policiesText(flags: PoliciesFlags): string {
  const { name, namespace, resource = [], check = 'all', mode } = flags
  if (name === undefined || namespace === undefined) {
    throw new OptionsError('Expected `--name` and `--namespace` of the Lease to be given')
  }
  if (!['all', 'term', 'holder'].includes(check)) {
    throw new OptionsError(`Expected \`--check\` to be term, holder or all, got \`${check}\``)
  }
  const options = {
    lease: { name, namespace },
    resources: resource.map(guarded),
    ...(mode !== undefined && { mode: mode as FenceMode }),
  }
  const writers = [`system:serviceaccount:${namespace}:${flags.serviceAccount ?? name}`]
  const fences: FencePolicy[] = []
  if (check !== 'holder') fences.push(termCheck(options))
  if (check !== 'term') fences.push(holderCheck({ ...options, writers }))
  return toYaml(
    fences.flatMap(({ policy, binding, epochBinding }) => [policy, binding, ...(epochBinding ? [epochBinding] : [])]),
  )
}

/** Reads `configmaps` or `apps/deployments`. @throws OptionsError for anything else, such as `apps/v1/deployments`. */
function guarded(text: string) {
  const [plural = '', apiGroup = '', ...more] = text.split('/').toReversed()
  if (plural !== '' && more.length === 0) return { apiGroup, resources: [plural] }
  const example = 'such as `configmaps` or `apps/deployments`'
  throw new OptionsError(`Expected \`--resource\` to be a plural name or GROUP/PLURAL, ${example}, got \`${text}\``)
}
