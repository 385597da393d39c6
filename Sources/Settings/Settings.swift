import Configuration
import Yams
