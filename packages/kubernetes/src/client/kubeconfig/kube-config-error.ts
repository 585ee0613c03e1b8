import { TenureError } from '@tenure/core'

/** There is no usable kubeconfig. The message says what was looked for, where, and what was wrong with it. */
export class KubeConfigError extends TenureError {
  override readonly code = 'BAD_KUBECONFIG'
}
