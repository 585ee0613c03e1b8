import { TenureError } from '@tenure/core'

/** Another process, or another part of this one, listens on the operations port already. */
export class PortInUseError extends TenureError {
  override readonly code = 'PORT_IN_USE'
  readonly host: string
  readonly port: number

  constructor(host: string, port: number, options?: ErrorOptions) {
    super(
      `Expected \`ops.port\` to be a free port, but something listens on ${host} port ${port} already; ` +
        'choose another one, or 0 for any that is free',
      options,
    )
    this.host = host
    this.port = port
  }
}
