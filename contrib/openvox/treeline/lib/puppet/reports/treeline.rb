require 'puppet'
require_relative '../../puppet_x/treeline/catalog_records'

Puppet::Reports.register_report(:treeline) do
  desc 'Tells Treeline what became of the record from which the catalog of a report was compiled. It needs no settings: it asks as the
    Hiera backend did. README.md of the module says which certificates may.'

  RESOURCES_NAMED_MAX = 3

  def process
    client, digest = PuppetX::Treeline::CompiledCatalogs.find(host, catalog_uuid.to_s)
    return Puppet.info("Treeline is told nothing of #{host}: its catalog was not compiled here with a record") if client.nil?

    client.confirm(host, digest, outcome, message)
  rescue PuppetX::Treeline::Failure => e
    # A controller of before has no such route, and a node may be gone meanwhile.
    raise unless [404, 405].include?(e.status)

    Puppet.info("#{host}: #{e.message}")
  end

  def outcome
    return 'noop' if noop

    status == 'failed' ? 'failed' : 'applied'
  end

  def message
    failed = resource_statuses.each_value.select { |one| one.failed || one.failed_to_restart }.map(&:resource)
    return "Puppet: #{status}" if failed.empty?

    "Puppet: #{failed.size} of #{resource_statuses.size} resources failed: #{failed.first(RESOURCES_NAMED_MAX).join(', ')}"
  end
end
