"""k-anonymity: nobody can be told apart from others, in the table or in the whole population.

Among so many rows of the table (k-anonymity), or among so many people of the population from which
the rows were drawn, as the sum of the rows' weights estimates it (k-map).
"""

from sfumato.expectations.models.k_anonymity.k_anonymity import KAnonymity
from sfumato.expectations.models.k_anonymity.k_map import KMap

__all__ = ["KAnonymity", "KMap"]
