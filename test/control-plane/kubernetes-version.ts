/** A version of Kubernetes that a control plane can have: 1.36.3 comes with etcd 3.6.8, 1.37.2 with etcd 3.7.0. */
export type KubernetesVersion = '1.36.3' | '1.37.2'

const VERSIONS: readonly KubernetesVersion[] = ['1.36.3', '1.37.2']

/**
 * The versions in `TENURE_KUBERNETES`, which is one version or several separated by commas; 1.36.3 if it is not set. A control plane
 * has the first of them by default; `npm run test:real` runs on each.
 *
 * @throws Error when it names another version.
 */
export function wantedVersions(): readonly [KubernetesVersion, ...KubernetesVersion[]] {
  const text = process.env['TENURE_KUBERNETES'] || '1.36.3'
  const [first, ...others] = text.split(',').map((name) => {
    const version = VERSIONS.find((known) => known === name)
    if (version === undefined) {
      throw new Error(`Expected TENURE_KUBERNETES to name some of ${VERSIONS.join(', ')}, got \`${text}\``)
    }
    return version
  })
  return [first ?? '1.36.3', ...others]
}

/** The environment of this process for a replica of Tenure, which refuses variables of the suites. */
export function replicaEnvironment(): NodeJS.ProcessEnv {
  const { TENURE_KUBERNETES: _, ...env } = process.env
  return env
}
