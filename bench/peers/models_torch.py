"""The four models of the training-step benchmark in PyTorch."""
import torch
import torch.nn.functional as F
from torch import nn


class Headline(nn.Module):
    """The CNN of the headline program: samples of 20x195 numbers, 15 regression targets."""

    batch, sample, classes = 1000, (1, 20, 195), None

    def __init__(self, keep_prob=0.5):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 5, (3, 30), stride=(1, 5))
        self.conv2 = nn.Conv2d(5, 5, (2, 2))
        self.drop = nn.Dropout(1 - keep_prob)
        self.fc1 = nn.Linear(4 * 8 * 5, 20)
        self.fc2 = nn.Linear(20, 15)
        for layer in (self.conv1, self.conv2, self.fc1, self.fc2):
            nn.init.xavier_normal_(layer.weight)
            nn.init.constant_(layer.bias, 0.1 if layer is self.conv2 else 0.0)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(self.drop(x).flatten(1)))
        return self.fc2(x)

    def loss(self, outputs, targets):
        """Root mean square error plus weight decay."""
        def l2(layer):
            return layer.weight.square().sum() / 2
        rmse = (targets - outputs).square().mean().sqrt()
        return rmse + 0.001 * (l2(self.conv1) + l2(self.conv2)) + 0.004 * (l2(self.fc1) + l2(self.fc2))


class LeNet(nn.Module):
    """conv 5x5x32, pool, conv 5x5x64, pool, fc 1024, dropout, fc 10 on 28x28 grey images."""

    batch, sample, classes = 100, (1, 28, 28), 10

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 5, padding="same")
        self.conv2 = nn.Conv2d(32, 64, 5, padding="same")
        self.fc1 = nn.Linear(7 * 7 * 64, 1024)
        self.drop = nn.Dropout(0.5)
        self.fc2 = nn.Linear(1024, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(self.drop(F.relu(self.fc1(x.flatten(1)))))

    def loss(self, outputs, targets):
        return F.cross_entropy(outputs, targets)


class Cifar(nn.Module):
    """The CNN of TensorFlow's CIFAR-10 tutorial on 24x24x3 crops, without its weight decay."""

    batch, sample, classes = 128, (3, 24, 24), 10

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 5, padding="same")
        self.conv2 = nn.Conv2d(64, 64, 5, padding="same")
        self.norm = nn.LocalResponseNorm(9, alpha=0.001, beta=0.75, k=1.0)  # alpha / 9 an element, radius 4
        self.fc1 = nn.Linear(6 * 6 * 64, 384)
        self.fc2 = nn.Linear(384, 192)
        self.fc3 = nn.Linear(192, 10)

    @staticmethod
    def pool(x):
        """3x3, stride 2, SAME: on an even extent the last window reaches one past the far edge."""
        return F.max_pool2d(x, 3, 2, ceil_mode=True)

    def forward(self, x):
        x = self.norm(self.pool(F.relu(self.conv1(x))))
        x = self.pool(self.norm(F.relu(self.conv2(x))))
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc3(F.relu(self.fc2(x)))

    def loss(self, outputs, targets):
        return F.cross_entropy(outputs, targets)


class Mlp(nn.Module):
    """784-2048-2048-10."""

    batch, sample, classes = 256, (784,), 10

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 2048)
        self.fc2 = nn.Linear(2048, 2048)
        self.fc3 = nn.Linear(2048, 10)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))

    def loss(self, outputs, targets):
        return F.cross_entropy(outputs, targets)


MODELS = {"headline": Headline, "lenet": LeNet, "cifar": Cifar, "mlp": Mlp}


def synthetic_batch(model, batch):
    x = torch.randn(batch, *model.sample)
    y = torch.randint(model.classes, (batch,)) if model.classes else torch.rand(batch, 15)
    return x, y
