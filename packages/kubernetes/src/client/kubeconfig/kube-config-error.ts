import { TenureError } from '@tenure/core'

/** There is no usable kubeconfig. The message says which files were read and what is wrong with them. */
export class KubeConfigError extends TenureError {
  override readonly code = 'BAD_KUBECONFIG'
}
