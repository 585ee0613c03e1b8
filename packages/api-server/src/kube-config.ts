/** The content of a kubeconfig for one server and one user. Certificates and keys are PEM. */
export interface KubeConfigContent {
  readonly url: string
  readonly caCert: string
  readonly user: string
  readonly credential: { readonly cert: string; readonly key: string } | { readonly token: string }
}

/** Formats a kubeconfig with one cluster, one user and one context, the current one. */
export function formatKubeConfig(content: KubeConfigContent): string {
  const { credential } = content
  const user =
    'token' in credential
      ? [`    token: ${quoted(credential.token)}`]
      : [`    client-certificate-data: ${base64(credential.cert)}`, `    client-key-data: ${base64(credential.key)}`]
  return [
    'apiVersion: v1',
    'kind: Config',
    'clusters:',
    '- name: embedded',
    '  cluster:',
    `    server: ${content.url}`,
    `    certificate-authority-data: ${base64(content.caCert)}`,
    'users:',
    `- name: ${quoted(content.user)}`,
    '  user:',
    ...user,
    'contexts:',
    '- name: embedded',
    '  context:',
    '    cluster: embedded',
    `    user: ${quoted(content.user)}`,
    'current-context: embedded',
    '',
  ].join('\n')
}

/** A JSON string is also a YAML string. */
function quoted(text: string): string {
  return JSON.stringify(text)
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
