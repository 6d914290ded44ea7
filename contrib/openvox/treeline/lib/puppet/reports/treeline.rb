require 'puppet'
require_relative '../../puppet_x/treeline/catalog_records'

Puppet::Reports.register_report(:treeline) do
  desc 'Confirms to Treeline the record from which the catalog of a report was compiled. It needs no settings: it uses those of the
    Hiera backend. README.md of the module says which certificates may confirm.'

  RESOURCES_NAMED_MAX = 3

  def process
    client, digest = PuppetX::Treeline::CompiledCatalogs.find(host, catalog_uuid.to_s)
    return Puppet.info("Nothing is confirmed to Treeline for #{host}: its catalog was not compiled here with a record") if client.nil?

    client.confirm(host, digest, outcome, message)
  rescue PuppetX::Treeline::Failure => e
    # An older controller has no such route, and the node may have been deleted since.
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
