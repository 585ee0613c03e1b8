import type { CertificateAuthority } from '../../packages/api-server/src/certificate-authority.ts'
import { formatKubeConfig } from '../../packages/api-server/src/kube-config.ts'

/** Who a client is to the API server: the name and the groups that its certificate carries. */
export interface User {
  readonly name: string
  readonly groups?: readonly string[]
}

/** What a client needs to reach the API server as somebody; the last three are PEM. */
export interface Access {
  readonly url: string
  readonly caCert: string
  readonly cert: string
  readonly key: string
}

/** May do everything. */
export const admin: User = { name: 'admin', groups: ['system:masters'] }

/** Asks whether the API server is ready; the audit log leaves it out. */
export const prober: User = { name: 'prober', groups: ['system:masters'] }

/** Keeps one certificate for each user of an API server. */
export class AccessBook {
  readonly #authority: CertificateAuthority
  readonly #issued = new Map<string, { readonly cert: string; readonly key: string }>()

  constructor(authority: CertificateAuthority) {
    this.#authority = authority
  }

  /** Gives access to the server at `url`; the same user gets the same certificate. */
  accessFor({ name, groups = [] }: User, url: string): Access {
    const subject = JSON.stringify([name, groups])
    const pair =
      this.#issued.get(subject) ?? this.#authority.issueClientCertificate({ commonName: name, organizations: groups })
    this.#issued.set(subject, pair)
    return { url, caCert: this.#authority.root.cert, ...pair }
  }

  /** The same as a kubeconfig. */
  kubeConfigFor(user: User, url: string): string {
    const { caCert, cert, key } = this.accessFor(user, url)
    return formatKubeConfig({ url, caCert, user: user.name, credential: { cert, key } })
  }

  /** A kubeconfig for the owner of the token. */
  kubeConfigWithToken(token: string, url: string): string {
    return formatKubeConfig({ url, caCert: this.#authority.root.cert, user: 'token', credential: { token } })
  }
}
