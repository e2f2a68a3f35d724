"""How a process of simulators is set up."""

from dataclasses import dataclass
from pathlib import Path

from crmsim.hubspot.options import HubspotOptions
from crmsim.salesforce.options import SalesforceOptions


@dataclass(frozen=True, slots=True)
class Setup:
    """The CRMs of one process; they share its clock. `hubspot` None: Salesforce alone.

    `time_scale`: real seconds of a simulated one.
    """

    salesforce: SalesforceOptions
    hubspot: HubspotOptions | None = None
    time_scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Doors:
    """Where the process listens; port 0 is any free one. `certificate`: the folder that keeps it, None a temporary."""

    host: str = "127.0.0.1"
    port: int = 0
    hubspot_port: int = 0
    https: bool = False
    https_port: int = 0
    hubspot_https_port: int = 0
    certificate: Path | None = None

    def ports(self, crm: str) -> tuple[int, int]:
        """A CRM's ports of http and https."""
        if crm == "hubspot":
            return self.hubspot_port, self.hubspot_https_port
        return self.port, self.https_port
